// One sheet for all pickers of a document. A constructed sheet is no inline style: the strictest Content-Security-Policy
// lets it through. What the comments of the sheet would say, which every visitor would load:
// - .root: "all" leaves nothing of the page's but what hides the field or puts it out of reach, as closed menus,
//   inactive steps and print styles do; "interactivity" is newer than some browsers.
// - .root: iOS zooms the page in where a focused field's text is smaller than 16 px.
// - .field, contain: in a form that lays its fields out in a row, it is as wide whatever is in it.

const CSS = `
:host {
  display: block;
}

:host([hidden]) {
  display: none;
}

.root {
  all: initial;
  display: block;
  position: relative;
  color-scheme: inherit;
  direction: ltr;
  visibility: inherit;
  pointer-events: inherit;
  interactivity: inherit;
  color: var(--ink);
  font-family: var(--bank-picker-font-family, inherit);
  font-size: var(--bank-picker-font-size, max(16px, 1em));
  line-height: 1.5;
  font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
  --surface: var(--bank-picker-surface, light-dark(#fff, #15201d));
  --raised: var(--bank-picker-popup-surface, light-dark(#fff, #1b2925));
  --ink: var(--bank-picker-color, light-dark(#10201c, #e8f0ed));
  --muted: var(--bank-picker-muted-color, light-dark(#53635e, #a3b5af));
  --line: var(--bank-picker-line-color, light-dark(#dde4e1, #30423d));
  --control: var(--bank-picker-border-color, light-dark(#74847e, #778a82));
  --accent: var(--bank-picker-accent, light-dark(#0a5c4c, #74d4bb));
  --active: var(--bank-picker-active-surface, color-mix(in srgb, var(--accent) 13%, var(--raised)));
  --mark: var(--bank-picker-mark-surface, light-dark(#ffe9a8, #64511a));
  --danger: var(--bank-picker-danger, light-dark(#a1241f, #ffaaa1));
  --warning: var(--bank-picker-warning, light-dark(#6b4c00, #f0cf7a));
  --radius: var(--bank-picker-radius, 0.625em);
}

*,
::before,
::after {
  box-sizing: border-box;
}

[hidden] {
  display: none !important;
}

p {
  margin: 0;
}

button {
  margin: 0;
  padding: 0;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}

svg {
  flex: none;
  width: 1.25em;
  height: 1.25em;
  fill: none;
  stroke: currentcolor;
  stroke-width: 1.75;
  stroke-linecap: round;
  stroke-linejoin: round;
}

.count,
.heading,
.numbers {
  color: var(--muted);
  font-size: 0.8125em;
}

.brand + bdi,
.until,
.none span,
.help,
.note {
  color: var(--muted);
  font-size: 0.875em;
}

label {
  display: block;
  margin-bottom: 0.375em;
  font-weight: 600;
}

.help {
  margin-bottom: 0.375em;
}

.field {
  position: relative;
  display: flex;
  align-items: center;
  min-height: var(--bank-picker-height, 3.25em);
  overflow: hidden;
  contain: inline-size;
  contain-intrinsic-inline-size: 18em;
  border: 1px solid var(--control);
  border-radius: var(--radius);
  background: var(--surface);
}

.field:focus-within {
  border-color: var(--accent);
  outline: 2px solid var(--accent);
  outline-offset: -1px;
}

.field.wrong {
  border-color: var(--danger);
}

.field.wrong:focus-within {
  outline-color: var(--danger);
}

.field.off {
  border-style: dashed;
  background: transparent;
}

.disabled .field {
  opacity: 0.55;
}

.lens {
  margin-inline-start: 0.875em;
  color: var(--muted);
}

input {
  flex: 1;
  align-self: stretch;
  min-width: 0;
  margin: 0;
  padding: 0 0.75em;
  border: 0;
  outline: 0;
  background: none;
  color: inherit;
  font: inherit;
  text-align: inherit;
  text-overflow: ellipsis;
}

input::placeholder {
  color: var(--muted);
  opacity: 1;
}

.field.off input::placeholder {
  color: var(--danger);
}

.icon {
  display: grid;
  flex: none;
  place-items: center;
  width: 2.75em;
  height: 3em;
  color: var(--muted);
}

.icon:hover {
  color: var(--ink);
}

.clear + .show {
  margin-inline-start: -0.5em;
}

.show svg {
  transition: rotate 150ms ease-out;
}

.show[aria-expanded='true'] svg {
  rotate: 180deg;
}

.popup {
  position: fixed;
  inset: auto;
  flex-direction: column;
  margin: 0;
  padding: 0;
  overflow: hidden;
  container-type: inline-size;
  border: 1px solid var(--line);
  border-radius: var(--radius);
  background: var(--raised);
  color: var(--ink);
  box-shadow: 0 1px 2px rgb(0 0 0 / 8%), 0 12px 32px -8px rgb(0 0 0 / 28%);
}

.popup:popover-open {
  display: flex;
}

.count {
  flex: none;
  padding: 0.75em 1.4em 0.25em;
}

.list {
  position: relative;
  flex: 1;
  min-height: 0;
  padding: 0.375em;
  overflow-y: auto;
  overscroll-behavior: contain;
  scrollbar-color: var(--control) transparent;
}

.heading {
  padding: 0.5em 0.9em 0.25em;
  font-weight: 600;
}

.group + .group {
  margin-top: 0.375em;
  padding-top: 0.375em;
  border-top: 1px solid var(--line);
}

.option {
  display: grid;
  grid-template-columns: 1fr;
  align-items: baseline;
  min-height: 3em;
  padding: 0.5em 0.75em;
  border-radius: calc(var(--radius) * 0.7);
  cursor: pointer;
}

.option:hover {
  background: color-mix(in srgb, var(--active) 55%, transparent);
}

.option[aria-selected='true'] {
  outline: 2px solid var(--accent);
  outline-offset: -2px;
  background: var(--active);
}

.name {
  align-self: center;
  line-height: 1.35;
  overflow-wrap: anywhere;
}

.option:has(.logo) {
  position: relative;
  padding-inline-start: 3.5em;
}

.logo {
  position: absolute;
  inset-block: 0;
  inset-inline-start: 0.9em;
  display: grid;
  place-items: center;
  width: 2.5em;
  height: 2.5em;
  margin-block: auto;
  overflow: hidden;
  border-radius: 25%;
  background: var(--line);
  font-size: 0.8125em;
  font-weight: 600;
}

.logo::before {
  content: attr(data-initials);
}

.logo img {
  position: absolute;
  width: 100%;
  height: 100%;
  object-fit: contain;
}

.logo .loaded {
  background: #fff;
}

.brand {
  margin-inline-end: 0.5em;
  font-weight: 600;
}

.brand + bdi,
.until {
  font-weight: 400;
}

.chosen .name::after {
  display: inline-block;
  width: 0.35em;
  height: 0.7em;
  margin-inline-start: 0.6em;
  border: solid var(--accent);
  border-width: 0 2px 2px 0;
  content: '';
  rotate: 40deg;
}

.numbers {
  display: flex;
  gap: 0.75em;
}

.code {
  color: var(--ink);
  font-weight: 600;
}

@container (min-width: 30em) {
  .option {
    grid-template-columns: 1fr auto;
    align-items: center;
    column-gap: 1em;
    padding-block: 0.25em;
  }

  .numbers {
    display: grid;
    grid-template-columns: minmax(3em, auto) minmax(7.75em, auto);
    align-items: baseline;
    white-space: nowrap;
    text-align: start;
  }
}

mark {
  border-radius: 0.15em;
  background: var(--mark);
  color: inherit;
}

.brand + bdi mark {
  color: var(--ink);
}

.none {
  display: grid;
  gap: 0.125em;
  padding: 1em 1.125em;
}

.note {
  min-height: 1.5em;
  margin-top: 0.375em;
}

.help,
.note,
.outdated,
.failure {
  contain: inline-size;
}

.note.vanished,
.outdated {
  color: var(--warning);
}

.note.wrong,
.failure strong {
  color: var(--danger);
  font-weight: 600;
}

.note:empty:has(~ .outdated:not([hidden])) {
  display: none;
}

.outdated,
.failure {
  margin-top: 0.375em;
  font-size: 0.875em;
}

.actions {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.25em 1em;
  margin-top: 0.5em;
}

.retry {
  min-height: 2.75em;
  padding: 0.25em 1em;
  border: 1px solid var(--control);
  border-radius: var(--radius);
  color: var(--ink);
  font-weight: 600;
}

.retry:hover {
  border-color: var(--accent);
  color: var(--accent);
}

.retry[aria-disabled='true'] {
  border-color: var(--line);
  color: var(--muted);
  cursor: progress;
}

.retry:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}

.wait,
.reference {
  color: var(--muted);
}

.reference {
  margin-top: 0.5em;
  font-size: 0.9em;
  overflow-wrap: anywhere;
}

.live {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

.loading .field::after {
  position: absolute;
  inset: auto 0 0;
  height: 2px;
  background: linear-gradient(90deg, transparent, var(--accent), transparent) no-repeat 0 / 40% 100%;
  content: '';
  animation: travel 1.4s ease-in-out infinite;
}

@keyframes travel {
  from {
    background-position-x: -60%;
  }

  to {
    background-position-x: 160%;
  }
}

@media (prefers-reduced-motion: reduce) {
  *,
  ::before,
  ::after {
    animation: none !important;
    transition: none !important;
  }

  .loading .field::after {
    background: var(--accent);
  }
}

@media (forced-colors: active) {
  .option[aria-selected='true'] {
    outline-color: Highlight;
  }

  mark {
    background: Mark;
    color: MarkText;
  }
}
`;

/** @type {CSSStyleSheet | undefined} */
let sheet;

/** Made when the first picker is, so that a server that renders pages can import the element. */
export const styleSheet = () => {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
  }
  return sheet;
};
