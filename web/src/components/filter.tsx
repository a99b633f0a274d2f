/** A field that filters what is below it; the key `/` leads to it, Esc clears it. */

import type { JSX } from "preact";

interface FilterProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

export function Filter({ label, value, onChange }: FilterProps): JSX.Element {
  return (
    <input
      class="filter"
      type="search"
      data-search=""
      aria-label={label}
      placeholder={`${label}  /`}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Escape" && onChange("")}
    />
  );
}

/** Whether a text has all words of a filter, in any case. */
export function passes(text: string, filter: string): boolean {
  const lower = text.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
}
