import type { DetailedHTMLProps, HTMLAttributes } from 'react';
import type { BankPickerElement, BankPickerEventMap } from './bank-picker.js';

// `<bank-picker>` in JSX, for React 19 and what is built on it. At run time this entry is the element itself.

type Properties = Pick<
  BankPickerElement,
  | 'src'
  | 'name'
  | 'value'
  | 'label'
  | 'placeholder'
  | 'required'
  | 'disabled'
  | 'codeField'
  | 'nameField'
  | 'idField'
  | 'logoField'
  | 'help'
  | 'strings'
  | 'filter'
>;

/** React adds a listener for a name in lower case only: its own `onLoad` and `onError` do not hear the element. */
type Unheard = 'onLoad' | 'onLoadCapture' | 'onError' | 'onErrorCapture';

interface Events {
  onload: (event: BankPickerEventMap['load']) => void;
  onerror: (event: BankPickerEventMap['error']) => void;
  onmissing: (event: BankPickerEventMap['missing']) => void;
}

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'bank-picker': DetailedHTMLProps<
        Omit<HTMLAttributes<BankPickerElement>, Unheard>,
        BankPickerElement
      > &
        Partial<Properties & Events>;
    }
  }
}
