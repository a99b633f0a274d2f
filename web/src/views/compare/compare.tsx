/** Two models side by side: signatures, ops, graphs. */

import type { JSX } from "preact";
import type { Inspection } from "../../api/reports";
import type { ModelEntry } from "../../api/types";
import { Empty, Problem, Request } from "../../components/states";
import { Name, printable } from "../../components/text";
import { go } from "../../shell/router";
import { sessionOf } from "../../shell/session";
import { source } from "../../shell/source";
import { typeOf } from "../overview/signatures";
import { SideBySide } from "./side_by_side";
import { opDifferences, signatureDifferences, type LineDifference } from "./differences_of_models";

export function Compare({ query }: { query: URLSearchParams }): JSX.Element {
  const a = query.get("a") ?? "";
  const b = query.get("b") ?? "";
  return (
    <div class="stack">
      <header>
        <h1>Compare two models</h1>
      </header>
      <Request ask={() => source.models()} keys={[]} what="Listing the models">
        {(models) => (
          <section class="card flow choose-two" aria-label="Models to compare">
            <ModelChoice label="First" models={models} value={a} onChange={(id) => go(addressOf(id, b), true)} />
            <button type="button" class="quiet" aria-label="Swap" title="Swap" disabled={!a || !b} onClick={() => go(addressOf(b, a), true)}>
              ⇄
            </button>
            <ModelChoice label="Second" models={models} value={b} onChange={(id) => go(addressOf(a, id), true)} />
          </section>
        )}
      </Request>
      {a && b ? <Comparison key={`${a} ${b}`} a={a} b={b} /> : <Empty>Choose two models. Open more from the first page.</Empty>}
    </div>
  );
}

function addressOf(a: string, b: string): string {
  return `#/compare?${new URLSearchParams({ ...(a ? { a } : {}), ...(b ? { b } : {}) })}`;
}

interface ModelChoiceProps {
  label: string;
  models: ModelEntry[];
  value: string;
  onChange: (id: string) => void;
}

function ModelChoice({ label, models, value, onChange }: ModelChoiceProps): JSX.Element {
  return (
    <label>
      <span class="soft">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">choose a model</option>
        {models.map((entry) => (
          <option key={entry.id} value={entry.id}>
            {printable(entry.name).slice(0, 60)} — {printable(entry.path).slice(-80)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Comparison({ a, b }: { a: string; b: string }): JSX.Element {
  if (a === b) return <Problem sentence="Both are the same model: choose another." />;
  const ask = () => Promise.all([a, b].map(async (id) => (await sessionOf(id).entry(), sessionOf(id).inspection())));
  return (
    <>
      <Request ask={ask} keys={[a, b]} what="Reading both models">
        {([first, second]) => first && second && <Reports a={first} b={second} />}
      </Request>
      <SideBySide a={a} b={b} titles={["First", "Second"]} />
    </>
  );
}

function Reports({ a, b }: { a: Inspection; b: Inspection }): JSX.Element {
  return (
    <div class="two">
      <Lines title="Signatures" lines={signatureDifferences(a, b, typeOf)} same="The signatures are equal." />
      <Lines title="Ops" lines={opDifferences(a, b)} same="Both use the same ops, equally often." />
    </div>
  );
}

const MARKS = { added: ["+", "added"], gone: ["−", "gone"], changed: ["~", "changed"] } as const;

function Lines({ title, lines, same }: { title: string; lines: LineDifference[]; same: string }): JSX.Element {
  return (
    <section class="card stack" aria-label={title}>
      <h2>{title}</h2>
      {lines.length === 0 && <p class="soft">{same}</p>}
      <ul class="difference-lines scrolls" tabIndex={0} aria-label={`Differences of the ${title.toLowerCase()}`}>
        {lines.map((line) => (
          <li key={`${line.kind} ${line.name}`} class={line.kind}>
            <span class="mark" aria-hidden="true">
              {MARKS[line.kind][0]}
            </span>
            <span class="visually-hidden">{MARKS[line.kind][1]}</span>
            <code>
              <Name text={line.name} longest={80} />
            </code>
            <small>{printable(line.what)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}
