import 'banks-bff-picker/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const Transfer = () => {
  const [bank, setBank] = useState('');
  const [sent, setSent] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setSent(`bank=${String(new FormData(event.currentTarget).get('bank'))}`);
      }}
    >
      <p>
        <label htmlFor="bank">Seu banco</label>
        <bank-picker
          id="bank"
          name="bank"
          src="http://localhost:3000/banks"
          required
          value={bank}
          onInput={(event) => setBank(event.currentTarget.value)}
        />
      </p>
      <button>Continuar</button>
      <button
        type="button"
        onClick={() => {
          setBank('');
          setSent('');
        }}
      >
        Recomeçar
      </button>
      <p>
        <output>{sent || (bank && `ISPB ${bank}`)}</output>
      </p>
    </form>
  );
};

const app = document.getElementById('app');
if (app) createRoot(app).render(<Transfer />);
