/** How far the outputs of both models are apart. */

import type { JSX } from "preact";
import type { Certificate, OutputDifference } from "../../api/reports";
import { count, short, whole } from "../../components/format";
import { Name, Sentence } from "../../components/text";

type Comparison = Certificate["comparisons"][number];

const MARKS: Record<string, [string, string]> = { alike: ["✓", "good"], differs: ["✕", "bad"] };
const WORDS: Record<string, string> = { alike: "outputs agree", differs: "outputs differ" };

export function Differences({ comparisons }: { comparisons: Comparison[] }): JSX.Element {
  return (
    <section class="card stack" aria-labelledby="differences">
      <h2 id="differences">Output differences</h2>
      {comparisons.map((comparison, index) => (
        <OfSignature key={index} comparison={comparison} />
      ))}
    </section>
  );
}

function OfSignature({ comparison }: { comparison: Comparison }): JSX.Element {
  const { signature, runner, reference, verdict, answered, refused, stopped, failed, only_rewritten_refuses: refuses } = comparison;
  const [glyph, tone] = MARKS[verdict] ?? ["?", "soft"];
  const beside = reference && reference !== runner ? `, the original on ${reference}` : "";
  return (
    <section class="stack tight">
      <h3>
        <span class={`glyph ${tone}`} aria-hidden="true">
          {glyph}
        </span>{" "}
        <Name text={signature} longest={120} />{" "}
        <small>
          {WORDS[verdict] ?? verdict}: {count(answered, "input")} answered{refused > 0 && `, ${whole(refused)} refused`}, on {runner}
          {beside}
        </small>
      </h3>
      {[stopped, ...(failed ?? []), ...refuses.map(({ trial, why }) => `The rewritten model refuses \`${trial}\`: ${why}`)]
        .filter((sentence): sentence is string => Boolean(sentence))
        .map((sentence) => (
          <p key={sentence}>
            <span class="glyph bad" aria-hidden="true">
              ✕
            </span>{" "}
            <Sentence text={sentence} />
          </p>
        ))}
      <OutputTable comparison={comparison} />
    </section>
  );
}

function OutputTable({ comparison: { outputs, not_finite: notFinite, random, signature } }: { comparison: Comparison }): JSX.Element {
  const unequal = Object.entries(notFinite).filter(([name, difference]) => difference.unequal && !random.includes(name));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={`Outputs of ${signature}`}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">output</th>
            <th scope="col">type</th>
            <th scope="col" class="number">largest difference</th>
            <th scope="col" class="number">relative</th>
            <th scope="col" class="number">ulps</th>
            <th scope="col" class="number">unequal</th>
            <th scope="col" class="number">tolerance</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(outputs).map(([name, difference]) => (
            <OutputRow key={name} name={name} difference={difference} random={random.includes(name)} />
          ))}
          {unequal.map(([name, difference]) => (
            <OutputRow key={`${name} not finite`} name={`${name} (NaN, inf)`} difference={difference} random={false} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface OutputRowProps {
  name: string;
  difference: OutputDifference;
  random: boolean;
}

function OutputRow({ name, difference, random }: OutputRowProps): JSX.Element {
  const { dtype, alike, absolute, relative, ulps, unequal, elements, problem, rtol, atol } = difference;
  const note = random ? "random, not compared" : problem;
  return (
    <tr>
      <td>
        <span class={`glyph ${alike ? "good" : random ? "soft" : "bad"}`} aria-hidden="true">
          {alike ? "✓" : random ? "?" : "✕"}
        </span>{" "}
        <code>
          <Name text={name} longest={80} />
        </code>
      </td>
      <td>{dtype}</td>
      {note ? (
        <td colSpan={4}>
          <Sentence text={note} />
        </td>
      ) : (
        <>
          <td class="number">{numberOf(absolute)}</td>
          <td class="number">{numberOf(relative)}</td>
          <td class="number">{ulps === null ? "" : whole(ulps)}</td>
          <td class="number">
            {whole(unequal)} of {whole(elements)}
          </td>
        </>
      )}
      <td class="number">
        {short(rtol)} · {short(atol)}
      </td>
    </tr>
  );
}

function numberOf(value: number | null): string {
  return value === null ? "infinite" : value === 0 ? "0" : short(value);
}
