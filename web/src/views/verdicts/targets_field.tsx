/** Targets as chips, chosen like pip requirements. */

import type { JSX } from "preact";
import { Combobox } from "../../components/combobox";
import { source } from "../../shell/source";

interface TargetsFieldProps {
  model: string;
  targets: string[];
  onChange: (targets: string[]) => void;
}

export function TargetsField({ model, targets, onChange }: TargetsFieldProps): JSX.Element {
  return (
    <div class="targets-field">
      <Combobox
        label="Targets"
        placeholder="tensorflow==2.8.4"
        suggest={(prefix) => suggestTargets(prefix, model)}
        onChoose={(target) => !targets.includes(target) && onChange([...targets, target])}
        isSearch
      />
      {targets.length > 0 && (
        <ul class="chips" aria-label="Chosen targets">
          {targets.map((target) => (
            <li key={target}>
              <span>{target.slice(0, 120)}</span>
              <button type="button" aria-label={`Remove ${target}`} onClick={() => onChange(targets.filter((other) => other !== target))}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Suggestions of the server for the start of a target. */
export async function suggestTargets(prefix: string, model: string): Promise<{ value: string; note: string }[]> {
  return (await source.targets(prefix, model)).map(({ requirement, note, kind }) => ({ value: requirement, note: note || kind }));
}
