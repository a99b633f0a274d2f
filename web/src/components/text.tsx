/** Text of strangers: names, values and messages, shown as they are and never as markup. */

import type { ComponentChildren, JSX } from "preact";

const LONGEST_TITLE = 400;
/** Control characters, and those that change the direction or order of the text around them. */
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text with its invisible characters spelled out. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Text cut in the middle: both ends of a name tell something. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const letters = [...text.slice(0, longest), "…"];
  const tail = [...text.slice(-Math.floor(longest / 3))];
  return [...letters.slice(0, Math.ceil((longest * 2) / 3)), "…", ...tail].join("");
}

/** A name from a model on one line; what does not fit is cut off, and the whole is its tooltip. */
export function Name({ text, longest = 300 }: { text: string; longest?: number }): JSX.Element {
  const safe = printable(text);
  return (
    <bdi class="one-line" title={shortened(safe, LONGEST_TITLE)}>
      {shortened(safe, longest) || "(no name)"}
    </bdi>
  );
}

/** A sentence of tfport, in which backticks mark code. */
export function Sentence({ text }: { text: string }): JSX.Element {
  const parts = printable(text).split("`");
  const balanced = parts.length % 2 === 1;
  return (
    <>
      {balanced
        ? parts.map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))
        : parts.join("`")}
    </>
  );
}

/** A term and what it is, in a list of facts. */
export function Facts({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{children}</dl>;
}

/** A row of facts; nothing is shown without a value. */
export function Fact({ name, children }: { name: string; children?: ComponentChildren }): JSX.Element | null {
  if (children === null || children === undefined || children === "" || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
