/** What differs between two models, as lines. */

import type { Inspection, TensorSpec } from "../../api/reports";

export interface LineDifference {
  kind: "added" | "gone" | "changed";
  name: string;
  what: string;
}

/** Inputs and outputs that only one model has, or that have another type. */
export function signatureDifferences(a: Inspection, b: Inspection, typeOf: (spec: TensorSpec) => string): LineDifference[] {
  return differences(endsOf(a, typeOf), endsOf(b, typeOf));
}

/** Ops that only one model uses, or another number of times; the largest difference first. */
export function opDifferences(a: Inspection, b: Inspection): LineDifference[] {
  const counts = (inspection: Inspection) => new Map(Object.entries(inspection.ops.total).map(([op, number]) => [op, `${number}`]));
  const distance = ({ what }: LineDifference) => {
    const [before = 0, after = 0] = what.split(" → ").map(Number);
    return Math.abs(before - after);
  };
  return differences(counts(a), counts(b)).sort((first, second) => distance(second) - distance(first));
}

function endsOf({ signatures }: Inspection, typeOf: (spec: TensorSpec) => string): Map<string, string> {
  const ends = new Map<string, string>();
  for (const [name, { inputs, outputs }] of Object.entries(signatures)) {
    for (const [key, spec] of Object.entries(inputs)) ends.set(`${name}: input ${key}`, typeOf(spec));
    for (const [key, spec] of Object.entries(outputs)) ends.set(`${name}: output ${key}`, typeOf(spec));
  }
  return ends;
}

function differences(a: Map<string, string>, b: Map<string, string>): LineDifference[] {
  const lines: LineDifference[] = [];
  for (const [name, before] of a) {
    const after = b.get(name);
    if (after === undefined) lines.push({ kind: "gone", name, what: before });
    else if (after !== before) lines.push({ kind: "changed", name, what: `${before} → ${after}` });
  }
  for (const [name, after] of b) if (!a.has(name)) lines.push({ kind: "added", name, what: after });
  return lines;
}
