/** Rows that are far too wide are cut into several: thousands of nodes that feed one, or read one. */
import { Rim, type LayoutProblem } from "./problem";

/** A row may have this many nodes at one end of a graph before it is wrapped. */
const WIDE = 60;

/** New ranks, in which the nodes of wide rows that have edges on one side only are in several rows. */
export function wrapWideRows(
  rank: Int32Array, problem: LayoutProblem, source: Int32Array, target: Int32Array,
): Int32Array {
  const last = rank.reduce((most, r) => Math.max(most, r), 0);
  const hasInputs = new Uint8Array(rank.length);
  const hasOutputs = new Uint8Array(rank.length);
  source.forEach((node) => (hasOutputs[node] = 1));
  target.forEach((node) => (hasInputs[node] = 1));
  const above: number[][] = Array.from({ length: last + 1 }, () => []);
  const below: number[][] = Array.from({ length: last + 1 }, () => []);
  rank.forEach((r, node) => {
    if (problem.rim[node] !== Rim.None) return;
    if (!hasInputs[node]) above[r]!.push(node);
    else if (!hasOutputs[node]) below[r]!.push(node);
  });
  const shift = new Int32Array(last + 1);
  for (let r = 0, sum = 0; r <= last; r++) {
    sum += rowsFor(above[r]!.length) - 1;
    shift[r] = sum;
    sum += rowsFor(below[r]!.length) - 1;
  }
  const wrapped = rank.map((r) => r + shift[r]!);
  // Neighbors go to different rows, so that the edges of the farther rows find their way between boxes.
  for (const list of above) list.forEach((node, k) => (wrapped[node]! -= k % rowsFor(list.length)));
  for (const list of below) list.forEach((node, k) => (wrapped[node]! += k % rowsFor(list.length)));
  return wrapped;
}

function rowsFor(nodes: number): number {
  return nodes > WIDE ? Math.ceil(nodes / Math.max(WIDE / 2, Math.sqrt(3 * nodes))) : 1;
}
