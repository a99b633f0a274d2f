/** The parts of the time of a run, as one bar. */

import type { JSX } from "preact";
import type { Profile } from "../../api/reports";
import { milliseconds } from "../../components/format";

const PARTS: [key: keyof Profile["parts_ms"], title: string, what: string][] = [
  ["islands", "engine", "parts of the model that the engine runs"],
  ["host", "host", "steps in NumPy"],
  ["copies", "copies", "arrays to the engine and back"],
  ["other", "other", "the loop over the steps, inputs and outputs"],
];

export function Parts({ parts, total }: { parts: Profile["parts_ms"]; total: number }): JSX.Element {
  const sum = Math.max(total, PARTS.reduce((all, [key]) => all + parts[key], 0)) || 1;
  return (
    <>
      <div class="parts-bar" aria-hidden="true">
        {PARTS.map(([key, title]) => (
          <span key={key} class={`part-${key}`} style={{ width: `${(100 * parts[key]) / sum}%` }} title={title} />
        ))}
      </div>
      <ul class="parts">
        {PARTS.map(([key, title, what]) => (
          <li key={key}>
            <span class={`swatch part-${key}`} aria-hidden="true" />
            <span>
              <strong>{title}</strong> {milliseconds(parts[key])} <small>({((100 * parts[key]) / sum).toFixed(0)} %)</small>
              <br />
              <small>{what}</small>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
