import type { BankPickerElement } from 'banks-bff-picker';
import type { DetailedHTMLProps, HTMLAttributes } from 'react';

type Properties = Pick<
  BankPickerElement,
  'src' | 'name' | 'value' | 'label' | 'required' | 'disabled' | 'strings'
>;

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'bank-picker': DetailedHTMLProps<HTMLAttributes<BankPickerElement>, BankPickerElement> &
        Partial<Properties>;
    }
  }
}
