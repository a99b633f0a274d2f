/** The answer before everything else: the releases that run the model, and why the others do not. */

import type { JSX } from "preact";
import type { Finding, Matrix, MatrixDetail, MatrixStrip } from "../../api/reports";
import { count } from "../../components/format";
import { useRequest } from "../../components/states";
import { Sentence } from "../../components/text";
import { OUTCOMES } from "../../components/verdict";
import { modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { placeOf } from "../verdicts/finding_card";
import { detailsBehind, rangeOf, rowsOf, wordsOf, type Bar } from "../verdicts/strips";

const MOST_STRIPS = 4;
const MOST_NAMED = 2;
/** How the packages are called. */
const PRODUCTS: Record<string, string> = {
  tensorflow: "TensorFlow",
  "tensorflow-gpu": "TensorFlow",
  keras: "Keras",
  "tf-keras": "tf-keras",
  "tflite-runtime": "TensorFlow Lite",
  "ai-edge-litert": "LiteRT",
};

/** Nothing where there is no matrix, as in a page about one check. */
export function WhereItRuns({ session }: { session: ModelSession }): JSX.Element | null {
  const request = useRequest(session.matrix, [session]);
  if (request.state !== "ready") return null;
  const answers = answersOf(request.value);
  if (answers.length === 0) return null;
  return (
    <section class="card answer" aria-label="Where it runs">
      {answers.slice(0, MOST_STRIPS).map(({ strip, also }, index) => (
        <Answer key={index} strip={strip} matrix={request.value} also={also} session={session} alone={answers.length === 1} />
      ))}
    </section>
  );
}

interface AnswerProps {
  strip: MatrixStrip;
  matrix: Matrix;
  also: MatrixStrip[];
  session: ModelSession;
  /** Whether all settings have this answer. */
  alone: boolean;
}

function Answer({ strip, matrix, also, session, alone }: AnswerProps): JSX.Element {
  const bars = rowsOf(strip)[0]?.bars ?? [];
  const runs = bars.filter(({ outcome }) => outcome === "runs");
  const isUnknown = runs.length === 0 && bars.some(({ outcome }) => outcome === "unknown");
  const tone = runs.length ? "runs" : isUnknown ? "unknown" : "load";
  const name = PRODUCTS[strip.package] ?? strip.package;
  const where = runs.length
    ? bars.length === 1
      ? `runs on every ${name} release`
      : `runs on ${name} ${runs.map(rangeOf).join(", ")}`
    : `${isUnknown ? "may run on some" : "runs on no"} ${name} release`;
  return (
    <div class={`answer-line ${tone}`}>
      <p class="answer-words">
        <span class={`glyph ${tone}`} aria-hidden="true">{OUTCOMES[tone].glyph}</span>{" "}
        <strong>{where}</strong>
        {!alone && <small title={[strip, ...also].map((one) => wordsOf(one, matrix)).join("; ")}> {settingsOf([strip, ...also], matrix)}</small>}
      </p>
      <ul class="plain">
        {bars.map((bar, index) => bar.outcome && bar.outcome !== "runs" && <Reason key={index} bars={bars} index={index} strip={strip} matrix={matrix} session={session} />)}
      </ul>
    </div>
  );
}

interface ReasonProps {
  bars: Bar[];
  index: number;
  strip: MatrixStrip;
  matrix: Matrix;
  session: ModelSession;
}

/** Why some releases fail: the finding on the release nearest to those that run the model. */
function Reason({ bars, index, strip, matrix, session }: ReasonProps): JSX.Element {
  const bar = bars[index]!;
  const details = decidingDetails(bars, index, strip, matrix);
  const [first] = details;
  const words = `${OUTCOMES[bar.outcome ?? "unknown"].words} ${rangeText(bars, index)}`;
  return (
    <li>
      <span class={`glyph ${bar.outcome}`} aria-hidden="true">{OUTCOMES[bar.outcome ?? "unknown"].glyph}</span> {words}
      {first && (
        <>
          {bar.outcome === "unknown" ? ": " : " because "}
          <Why finding={first.finding} detail={first} session={session} />
          {details.length > 1 && (
            <small>
              {" "}
              and <a href={verdictAddress(first, session)}>{count(details.length - 1, "more cause")}</a>
            </small>
          )}
        </>
      )}
    </li>
  );
}

function Why({ finding, detail, session }: { finding: Finding; detail: MatrixDetail; session: ModelSession }): JSX.Element {
  const has = (tab: string) => source.tabs().includes(tab);
  const nodes = finding.count;
  const text = <Sentence text={finding.message} />;
  if (nodes === 0 || !has("graph") || source.isStatic) return has("verdicts") ? <a href={verdictAddress(detail, session)}>{text}</a> : text;
  return (
    <>
      {text}{" "}
      <a class="show-nodes" href={modelAddress(session.id, "graph", placeOf(finding, detail))}>
        {nodes === 1 ? "Show the node" : `Show ${count(nodes, "node")}`}
      </a>
    </>
  );
}

/** The verdict on the release of a cause, with all its findings; a static page has no verdict on a single one. */
function verdictAddress(detail: MatrixDetail, session: ModelSession): string {
  const { target, device } = placeOf(detail.finding, detail);
  return modelAddress(session.id, "verdicts", source.isStatic || !target ? {} : { target, ...(device ? { device } : {}) });
}

/** The causes on the release of a range that is nearest to one that runs the model; without one, the newest. */
function decidingDetails(bars: Bar[], index: number, strip: MatrixStrip, matrix: Matrix): MatrixDetail[] {
  const bar = bars[index]!;
  const isAfter = bars[index - 1]?.outcome === "runs" && bars[index + 1]?.outcome !== "runs";
  const near = isAfter ? { ...bar, length: 1, last: bar.first } : bar;
  return detailsBehind({ cause: null, bar: near }, strip, matrix);
}

function rangeText(bars: Bar[], index: number): string {
  const bar = bars[index]!;
  const next = bars[index + 1];
  if (bars.length === 1) return "everywhere";
  if (index === 0 && next) return `before ${next.first}`;
  return next ? `on ${rangeOf(bar)}` : `since ${bar.first}`;
}

/** What a group of strips is about, in a few words: devices, loaders and signatures that others lack. */
function settingsOf(strips: MatrixStrip[], matrix: Matrix): string {
  const distinct = (of: (strip: MatrixStrip) => string[]) => {
    const [here, all] = [strips, matrix.strips].map((some) => new Set(some.flatMap(of)));
    return here!.size < all!.size ? [...here!].filter(Boolean) : [];
  };
  const devices = distinct(({ device }) => [device.toUpperCase()]);
  const loaders = distinct(({ loader }) => [loader ?? ""]);
  const signatures = distinct((strip) => strip.signatures);
  const named = signatures.length > MOST_NAMED ? count(signatures.length, "signature") : signatures.join(", ");
  return [devices.join(" and "), loaders.length && `${loaders.join(" and ")} loader`, named].filter(Boolean).join(", ");
}

/** Strips with the same answer and reason together. */
function answersOf(matrix: Matrix): { strip: MatrixStrip; also: MatrixStrip[] }[] {
  const groups = new Map<string, { strip: MatrixStrip; also: MatrixStrip[] }>();
  for (const strip of matrix.strips) {
    const bars = rowsOf(strip)[0]?.bars ?? [];
    const why = (index: number) => decidingDetails(bars, index, strip, matrix)[0]?.finding;
    const reasons = bars.map(({ first, last, outcome }, index) => [first, last, outcome, why(index)?.code, why(index)?.op, why(index)?.attr]);
    const key = JSON.stringify([strip.package.replace("-gpu", ""), reasons]);
    const group = groups.get(key);
    if (group) group.also.push(strip);
    else groups.set(key, { strip, also: [] });
  }
  return [...groups.values()];
}
