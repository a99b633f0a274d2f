/** The matrix arranged for the eye: which strips are alike, and bars over the releases. */

import type { Matrix, MatrixCause, MatrixDetail, MatrixStrip } from "../../api/reports";
import { outcomeOf, type Outcome } from "../../components/verdict";

/** Consecutive releases with the same outcome. */
export interface Bar {
  start: number;
  length: number;
  first: string;
  last: string;
  /** The requirement of the newest release. */
  target: string;
  outcome: Outcome | null;
}

/** A row of the table: the verdict, or one cause. */
export interface MatrixRow {
  cause: MatrixCause | null;
  bars: Bar[];
}

/** Which setting a strip is about, in words: those that all strips share are left out, except the package. */
export function wordsOf(strip: MatrixStrip, matrix: Matrix): string {
  const differs = (values: (string | null)[]) => new Set(values).size > 1;
  const loader = differs(matrix.strips.map((other) => other.loader)) && strip.loader;
  const signatures = differs(matrix.strips.map((other) => other.signatures.join())) && strip.signatures.join(", ");
  return [strip.package, strip.device.toUpperCase(), loader && `${loader} loader`, signatures].filter(Boolean).join(", ");
}

/** The rows of a strip: the verdict, then each cause; those of the newest releases first, as in the command. */
export function rowsOf(strip: MatrixStrip): MatrixRow[] {
  const causes = new Map<string, MatrixCause>();
  for (const { causes: here } of [...strip.releases].reverse()) for (const cause of here) causes.set(keyOf(cause), cause);
  const verdicts = barsOf(strip, ({ verdict, stage }) => outcomeOf(verdict, stage));
  const rows = [...causes.values()].map((cause) => ({
    cause,
    bars: barsOf(strip, (release) => {
      const here = release.causes.find((other) => keyOf(other) === keyOf(cause));
      return here ? (release.verdict === "unknown" ? "unknown" : (here.stage ?? "run")) : null;
    }),
  }));
  return [{ cause: null, bars: verdicts }, ...rows];
}

/** The bar that the user chose, and its cause; the verdict has none. */
export interface ChosenBar {
  cause: MatrixCause | null;
  bar: Bar;
}

/** The findings of the newest release of a bar. */
export function detailsBehind({ cause, bar }: ChosenBar, strip: MatrixStrip, matrix: Matrix): MatrixDetail[] {
  const indices = new Map(strip.releases.map(({ release }, index) => [release, index]));
  const end = bar.start + bar.length - 1;
  const isHere = (detail: MatrixDetail) =>
    detail.package === strip.package &&
    detail.device === strip.device &&
    detail.loader === strip.loader &&
    detail.signatures.join() === strip.signatures.join() &&
    (indices.get(detail.first) ?? Infinity) <= end &&
    (indices.get(detail.last) ?? -1) >= end;
  return (matrix.details ?? []).filter((detail) => isHere(detail) && (!cause || isSameCause(detail, cause)));
}

/** Whether two causes are about the same. */
export function isSameCause(a: CauseKey | null | undefined, b: CauseKey | null | undefined): boolean {
  return a?.code === b?.code && a?.op === b?.op && a?.attr === b?.attr;
}

type CauseKey = Pick<MatrixCause, "code" | "op" | "attr">;

/** What a cause is about: `op` or `op.attr`. */
export function subjectOf({ op, attr }: Pick<MatrixCause, "op" | "attr">): string {
  return [op, attr].filter(Boolean).join(".") || "the model";
}

/** A range of releases in words. */
export function rangeOf({ first, last }: { first: string; last: string }): string {
  return first === last ? first : `${first} – ${last}`;
}

/** Minor releases and how many patches each has, for the head of the table. */
export function minorsOf(strip: MatrixStrip): { major: string; minor: string; releases: string[] }[] {
  const minors: { major: string; minor: string; releases: string[] }[] = [];
  for (const { release } of strip.releases) {
    const [major = "", minor = ""] = release.split(".");
    const last = minors.at(-1);
    if (last && last.major === major && last.minor === minor) last.releases.push(release);
    else minors.push({ major, minor, releases: [release] });
  }
  return minors;
}

function barsOf(strip: MatrixStrip, outcome: (release: MatrixStrip["releases"][number]) => Outcome | null): Bar[] {
  const bars: Bar[] = [];
  strip.releases.forEach((release, index) => {
    const value = outcome(release);
    const bar = bars.at(-1);
    if (bar && bar.outcome === value) Object.assign(bar, { length: bar.length + 1, last: release.release, target: release.target });
    else bars.push({ start: index, length: 1, first: release.release, last: release.release, target: release.target, outcome: value });
  });
  return bars;
}

function keyOf({ code, op, attr }: MatrixCause): string {
  return JSON.stringify([code, op, attr]);
}
