// HTML as a template: whatever is put into it is text, unless it was made here.

export interface Html {
  readonly html: string;
}

type Value = string | number | Html | readonly Html[] | undefined | false;

/**
 * Tags a template as HTML. Strings in it are escaped, for content and for quoted attributes;
 * undefined and false are nothing.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html => ({
  html: parts.map((part, index) => part + toHtml(values[index])).join(''),
});

const toHtml = (value: Value): string => {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'html' in value ? value.html : value.map(toHtml).join('');
};

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
