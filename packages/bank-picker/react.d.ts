import type { DetailedHTMLProps, HTMLAttributes } from 'react';
import type { BankPickerElement } from './bank-picker.js';

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

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'bank-picker': DetailedHTMLProps<HTMLAttributes<BankPickerElement>, BankPickerElement> &
        Partial<Properties>;
    }
  }
}
