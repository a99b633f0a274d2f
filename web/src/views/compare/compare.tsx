/** Two models side by side: signatures, ops, graphs. */

import type { JSX } from "preact";
import type { ModelDifference, ModelEntry, PartDifference } from "../../api/types";
import { count } from "../../components/format";
import { Empty, Problem, Request } from "../../components/states";
import { Name, printable } from "../../components/text";
import { changeQuery, go, setParameter } from "../../shell/router";
import { sessionOf } from "../../shell/session";
import { source } from "../../shell/source";
import { SideBySide, type Place } from "./side_by_side";

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
      {a && b ? <Comparison key={`${a} ${b}`} a={a} b={b} query={query} /> : <Empty>Choose two models. Open more from the first page.</Empty>}
    </div>
  );
}

const LONGEST_PATH = 80;

function addressOf(a: string, b: string): string {
  return `#/compare?${new URLSearchParams({ ...(a ? { a } : {}), ...(b ? { b } : {}) })}`;
}

function endOf(path: string): string {
  return path.length > LONGEST_PATH ? `…${path.slice(1 - LONGEST_PATH)}` : path;
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
            {printable(entry.name).slice(0, 60)} — {endOf(printable(entry.path))}
          </option>
        ))}
      </select>
    </label>
  );
}

function Comparison({ a, b, query }: { a: string; b: string; query: URLSearchParams }): JSX.Element {
  if (a === b) return <Problem sentence="Both are the same model: choose another." />;
  const ask = async () => {
    await Promise.all([sessionOf(a).entry(), sessionOf(b).entry()]);
    return source.compare(a, b);
  };
  return (
    <>
      <Request ask={ask} keys={[a, b]} what="Comparing the models">
        {(difference) => <Reports difference={difference} />}
      </Request>
      <SideBySide a={a} b={b} titles={["First", "Second"]} place={placeOf(query)} onPlace={keepPlace} />
    </>
  );
}

function placeOf(query: URLSearchParams): Place {
  return { graphs: [query.get("graph_a"), query.get("graph_b")], nodes: [query.get("node_a"), query.get("node_b")] };
}

function keepPlace({ graphs, nodes }: Place): void {
  changeQuery((next) => {
    (["a", "b"] as const).forEach((side, index) => {
      setParameter(next, `graph_${side}`, graphs[index] ?? null);
      setParameter(next, `node_${side}`, nodes[index] ?? null);
    });
  });
}

function Reports({ difference }: { difference: ModelDifference }): JSX.Element {
  const { equal, metadata, signatures, ops, functions, weights } = difference;
  const same = weights.same ? `${count(weights.same, "weight")} equal` : "Neither has weights.";
  return (
    <>
      <p role="status">
        <span class={`glyph ${equal ? "runs" : "soft"}`} aria-hidden="true">{equal ? "✓" : "≠"}</span>{" "}
        <strong>{equal ? "The models are equivalent: only names differ, if anything." : "The models differ."}</strong>
      </p>
      <div class="two">
        <Lines title="Metadata" lines={metadata} same="Format, versions and files are the same." />
        <Lines title="Signatures" lines={signatures} same="The signatures are equal." />
        <Lines title="Ops" lines={ops} same="Both use the same ops, equally often." />
        <Lines title="Weights" lines={weights.differences} same={weights.differences.length ? "" : same} note={weights.differences.length && weights.same ? same : ""} />
        {functions.length > 0 && <Lines title="Functions" lines={functions} same="" />}
      </div>
    </>
  );
}

const MARKS = { added: ["+", "added"], gone: ["−", "gone"], changed: ["~", "changed"], renamed: ["=", "renamed"] } as const;

interface LinesProps {
  title: string;
  lines: PartDifference[];
  /** What to say without differences. */
  same: string;
  note?: string;
}

function Lines({ title, lines, same, note }: LinesProps): JSX.Element {
  return (
    <section class="card stack" aria-label={title}>
      <h2>{title}</h2>
      {lines.length === 0 && <p class="soft">{same}</p>}
      {note && <p class="soft">{note}</p>}
      <ul class="difference-lines scrolls" tabIndex={0} aria-label={`${title} that differ`}>
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
