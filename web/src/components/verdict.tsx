/** A verdict by color, glyph and word. */

import type { JSX } from "preact";
import type { Stage, Verdict } from "../api/reports";

/** How an outcome is colored and called. */
export type Outcome = "runs" | "load" | "run" | "unknown";

export const OUTCOMES: Record<Outcome, { glyph: string; words: string }> = {
  runs: { glyph: "✓", words: "runs" },
  load: { glyph: "✕", words: "fails at load" },
  run: { glyph: "✕", words: "fails at run" },
  unknown: { glyph: "?", words: "unknown" },
};

/** The outcome of a verdict and the stage at which it fails. */
export function outcomeOf(verdict: Verdict, stage: Stage): Outcome {
  if (verdict === "fails") return stage ?? "load";
  return verdict;
}

/** A badge with the glyph and the words of an outcome. */
export function Badge({ outcome }: { outcome: Outcome }): JSX.Element {
  const { glyph, words } = OUTCOMES[outcome];
  return (
    <span class={`badge ${outcome}`}>
      <span aria-hidden="true">{glyph}</span> {words}
    </span>
  );
}
