/** The difference of two graphs as rows and as colors. */

import type { GraphDifference } from "../../api/types";
import type { Overlay } from "../../graph/overlay";

export interface DifferenceRow {
  kind: "added" | "gone" | "changed" | "renamed";
  a: string | null;
  b: string | null;
  what: string;
}

/** What differs, what changed first. */
export function differenceRows({ added, gone, changed, renamed }: GraphDifference): DifferenceRow[] {
  return [
    ...changed.map(({ a, b, what }) => ({ kind: "changed" as const, a, b, what: what.join("; ") })),
    ...gone.map((a) => ({ kind: "gone" as const, a, b: null, what: "" })),
    ...added.map((b) => ({ kind: "added" as const, a: null, b, what: "" })),
    ...renamed.map(([a, b]) => ({ kind: "renamed" as const, a, b, what: `now ${b}` })),
  ];
}

/** The colors of both graphs. */
export function overlaysOf({ added, gone, changed }: GraphDifference, graphs: [string, string]): [Overlay, Overlay] {
  const legend = [
    { label: "changed", tone: "changed" as const },
    { label: "gone", tone: "gone" as const },
    { label: "added", tone: "added" as const },
  ];
  const overlay = (graph: string, tones: [string, number][]): Overlay => ({
    title: "Difference",
    legend,
    tones: new Map([[graph, new Map(tones)]]),
  });
  return [
    overlay(graphs[0], [...changed.map(({ a }): [string, number] => [a, 0]), ...gone.map((name): [string, number] => [name, 1])]),
    overlay(graphs[1], [...changed.map(({ b }): [string, number] => [b, 0]), ...added.map((name): [string, number] => [name, 2])]),
  ];
}

/** The nodes of the first graph that have another name in the second. */
export function matchesOf({ changed, renamed }: GraphDifference): Map<string, string> {
  const pairs = [...changed.map(({ a, b }): [string, string] => [a, b]), ...renamed];
  return new Map(pairs.filter(([a, b]) => a !== b));
}

/** The node of the other graph that matches one of this graph; most have the same name. */
export function partnerOf({ added, gone, changed, renamed }: GraphDifference, side: 0 | 1, node: string): string | null {
  const only = side ? added : gone;
  if (only.includes(node)) return null;
  const pairs = [...changed.map(({ a, b }): [string, string] => [a, b]), ...renamed];
  return pairs.find((pair) => pair[side] === node)?.[side ? 0 : 1] ?? node;
}
