/** The points of edges: vertical through the rows that they pass, free between rows. */
import type { Layers } from "./layers";
import { type LayoutProblem, type LayoutResult, type PlacedSize } from "./problem";

export type Placed = LayoutResult;

interface Rows {
  top: Float64Array;
  bottom: Float64Array;
}

/** Ends of edges on the same side of a box are this far apart, if there is room. */
const SPREAD = 14;

export function routeEdges(
  problem: LayoutProblem, layers: Layers, x: Float64Array, rows: Rows, upward: Uint8Array,
  nested: readonly PlacedSize[],
): Placed {
  const box = placeBoxes(problem, layers, x, rows);
  const ends = edgeEnds(problem, layers, x, upward, box, nested);
  const start = new Int32Array(problem.source.length + 1);
  const points: number[] = [];
  for (let edge = 0; edge < problem.source.length; edge++) {
    const bends = layers.bends[edge];
    const line = bends ? routedLine(edge, bends, layers, x, rows, ends, box, problem, upward) : [];
    if (upward[edge]) reversePoints(line);
    for (const value of line) points.push(value);
    start[edge + 1] = points.length / 2;
  }
  return normalized({ ...box, start, points: Float32Array.from(points) });
}

function placeBoxes(problem: LayoutProblem, layers: Layers, x: Float64Array, rows: Rows) {
  const count = problem.left.length;
  const box = {
    width: 0, height: 0,
    x: new Float32Array(count), y: new Float32Array(count),
    width_of: new Float32Array(count), height_of: problem.height.slice(), anchor: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const row = layers.rank[i]!;
    box.anchor[i] = x[i]!;
    box.x[i] = x[i]! - problem.left[i]!;
    box.width_of[i] = problem.left[i]! + problem.right[i]!;
    box.y[i] = (rows.top[row]! + rows.bottom[row]! - problem.height[i]!) / 2;
  }
  return box;
}

type Boxes = ReturnType<typeof placeBoxes>;

/** The x of both ends of each edge: at a port of a nested scope, else spread around the middle of the box. */
function edgeEnds(
  problem: LayoutProblem, layers: Layers, x: Float64Array, upward: Uint8Array, box: Boxes,
  nested: readonly PlacedSize[],
): { upper: Float64Array; lower: Float64Array } {
  const count = problem.source.length;
  const upper = new Float64Array(count);
  const lower = new Float64Array(count);
  const sides = new Map<number, { edge: number; toward: number }[]>();
  for (let edge = 0; edge < count; edge++) {
    const bends = layers.bends[edge];
    const flip = upward[edge] === 1;
    const a = flip ? problem.target[edge]! : problem.source[edge]!;
    const b = flip ? problem.source[edge]! : problem.target[edge]!;
    const portA = flip ? -1 : problem.sourcePort[edge]!;
    const portB = flip ? -1 : problem.targetPort[edge]!;
    if (portA >= 0) upper[edge] = portPlace(box, nested, problem, a, portA);
    else side(sides, a * 2 + 1).push({ edge, toward: bends?.length ? x[bends[0]!]! : x[b]! });
    if (portB >= 0) lower[edge] = portPlace(box, nested, problem, b, portB);
    else side(sides, b * 2).push({ edge, toward: bends?.length ? x[bends[bends.length - 1]!]! : x[a]! });
  }
  for (const [key, entries] of sides) {
    const item = key >> 1;
    const line = key & 1 ? upper : lower;
    const room = 1.6 * Math.min(problem.left[item]!, problem.right[item]!);
    const targets = [...new Set(entries.map((e) => e.toward))].sort((p, q) => p - q);
    const step = targets.length > 1 ? Math.min(SPREAD, room / (targets.length - 1)) : 0;
    for (const { edge, toward } of entries) {
      line[edge] = x[item]! + (targets.indexOf(toward) - (targets.length - 1) / 2) * step;
    }
  }
  return { upper, lower };
}

function side<T>(map: Map<number, T[]>, key: number): T[] {
  return map.get(key) ?? map.set(key, []).get(key)!;
}

function portPlace(box: Boxes, nested: readonly PlacedSize[], problem: LayoutProblem, item: number, port: number): number {
  const inner = nested[problem.nested[item]!]!;
  return box.x[item]! + (box.width_of[item]! - inner.width) / 2 + inner.anchor[port]!;
}

function routedLine(
  edge: number, bends: Int32Array, layers: Layers, x: Float64Array, rows: Rows,
  ends: { upper: Float64Array; lower: Float64Array }, box: Boxes, problem: LayoutProblem, upward: Uint8Array,
): number[] {
  const a = upward[edge] ? problem.target[edge]! : problem.source[edge]!;
  const b = upward[edge] ? problem.source[edge]! : problem.target[edge]!;
  const line = [ends.upper[edge]!, box.y[a]! + box.height_of[a]!];
  const bottomOfRow = rows.bottom[layers.rank[a]!]!;
  if (bottomOfRow - line[1]! > 12) line.push(line[0]!, bottomOfRow);
  for (const bend of bends) {
    const row = layers.rank[bend]!;
    line.push(x[bend]!, rows.top[row]!, x[bend]!, rows.bottom[row]!);
  }
  const topOfRow = rows.top[layers.rank[b]!]!;
  if (box.y[b]! - topOfRow > 12) line.push(ends.lower[edge]!, topOfRow);
  line.push(ends.lower[edge]!, box.y[b]!);
  return withoutStraightBends(line);
}

function withoutStraightBends(line: number[]): number[] {
  const kept = line.slice(0, 2);
  for (let k = 2; k + 2 < line.length; k += 2) {
    const straight = line[k] === kept[kept.length - 2] && line[k] === line[k + 2];
    if (!straight) kept.push(line[k]!, line[k + 1]!);
  }
  kept.push(...line.slice(-2));
  return kept;
}

function reversePoints(line: number[]): void {
  for (let i = 0, j = line.length - 2; i < j; i += 2, j -= 2) {
    [line[i], line[i + 1], line[j], line[j + 1]] = [line[j]!, line[j + 1]!, line[i]!, line[i + 1]!];
  }
}

/** Move everything so that the top left corner is the origin, and measure it. */
function normalized(placed: Placed): Placed {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < placed.x.length; i++) {
    left = Math.min(left, placed.x[i]!);
    right = Math.max(right, placed.x[i]! + placed.width_of[i]!);
    top = Math.min(top, placed.y[i]!);
    bottom = Math.max(bottom, placed.y[i]! + placed.height_of[i]!);
  }
  for (let k = 0; k < placed.points.length; k += 2) {
    left = Math.min(left, placed.points[k]!);
    right = Math.max(right, placed.points[k]!);
  }
  if (!placed.x.length) [left, top, right, bottom] = [0, 0, 0, 0];
  for (let i = 0; i < placed.x.length; i++) {
    placed.x[i]! -= left;
    placed.anchor[i]! -= left;
    placed.y[i]! -= top;
  }
  for (let k = 0; k < placed.points.length; k += 2) {
    placed.points[k]! -= left;
    placed.points[k + 1]! -= top;
  }
  return { ...placed, width: right - left, height: bottom - top };
}
