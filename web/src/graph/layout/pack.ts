/** Parts of a scope without edges between them, laid out each on its own and put side by side. */
import { GAP, type LayoutProblem } from "./problem";
import type { Placed } from "./route";

/** Width to height of the packed whole, if there is a choice. */
const ASPECT = 1.5;
const BETWEEN_PARTS = 36;

/** The number of the part that each item is in; items on the rim with nothing attached are parts as well. */
export function componentsOf(items: number, source: Int32Array, target: Int32Array, rim: Uint8Array): Int32Array {
  const above = Int32Array.from({ length: items }, (_, i) => i);
  const top = (i: number): number => {
    while (above[i] !== i) i = above[i] = above[above[i]!]!;
    return i;
  };
  const join = (a: number, b: number) => {
    const [p, q] = [top(a), top(b)];
    above[Math.max(p, q)] = Math.min(p, q);
  };
  source.forEach((a, e) => join(a, target[e]!));
  let firstOnRim = -1;
  rim.forEach((kind, item) => {
    if (!kind) return;
    if (firstOnRim >= 0) join(firstOnRim, item);
    else firstOnRim = item;
  });
  const number = new Int32Array(items);
  const numbers = new Map<number, number>();
  for (let i = 0; i < items; i++) {
    const root = top(i);
    if (!numbers.has(root)) numbers.set(root, numbers.size);
    number[i] = numbers.get(root)!;
  }
  return number;
}

export function packComponents(
  problem: LayoutProblem, part: Int32Array, layout: (part: LayoutProblem) => Placed,
): Placed {
  const count = part.reduce((most, p) => Math.max(most, p + 1), 0);
  if (count <= 1) return layout(problem);
  const items: number[][] = Array.from({ length: count }, () => []);
  const edges: number[][] = Array.from({ length: count }, () => []);
  part.forEach((p, item) => items[p]!.push(item));
  problem.source.forEach((item, edge) => edges[part[item]!]!.push(edge));
  const placed = items.map((list, p) => (list.length === 1 ? single(problem, list[0]!) : layout(restrict(problem, list, edges[p]!))));
  const order = placed.map((_, p) => p).sort((p, q) => Number(items[p]!.length === 1) - Number(items[q]!.length === 1) || p - q);
  return join(problem, items, edges, placed, order, placeParts(placed, order, items, problem.rim));
}

function single(problem: LayoutProblem, item: number): Placed {
  const width = problem.left[item]! + problem.right[item]!;
  const height = problem.height[item]!;
  return {
    width, height, x: Float32Array.of(0), y: Float32Array.of(0), width_of: Float32Array.of(width),
    height_of: Float32Array.of(height), anchor: Float32Array.of(problem.left[item]!),
    start: Int32Array.of(0), points: new Float32Array(0),
  };
}

function restrict(problem: LayoutProblem, items: number[], edges: number[]): LayoutProblem {
  const own = new Map(items.map((item, k) => [item, k]));
  const column = <T extends Float32Array | Int32Array | Uint8Array>(from: T, list: number[]): T => {
    const kind = from.constructor as new (length: number) => T;
    const values = new kind(list.length);
    list.forEach((at, k) => (values[k] = from[at]!));
    return values;
  };
  return {
    left: column(problem.left, items), right: column(problem.right, items), height: column(problem.height, items),
    nested: column(problem.nested, items), rim: column(problem.rim, items),
    source: Int32Array.from(edges, (e) => own.get(problem.source[e]!)!),
    target: Int32Array.from(edges, (e) => own.get(problem.target[e]!)!),
    weight: column(problem.weight, edges), sourcePort: column(problem.sourcePort, edges), targetPort: column(problem.targetPort, edges),
  };
}

/** Parts in rows of about the same length, large ones first; beside the part with edges to the rim, if any. */
function placeParts(placed: Placed[], order: number[], items: number[][], rim: Uint8Array): { x: number; y: number }[] {
  const onRim = order.find((p) => items[p]!.some((item) => rim[item] !== 0));
  const others = order.filter((p) => p !== onRim);
  const beside = onRim === undefined ? null : placed[onRim]!;
  const area = others.reduce((sum, p) => sum + (placed[p]!.width + GAP.between) * (placed[p]!.height + GAP.between), 0);
  const widest = others.reduce((most, p) => Math.max(most, placed[p]!.width), 0);
  const start = beside ? beside.width + BETWEEN_PARTS : 0;
  const limit = start + Math.max(widest, Math.min(Math.sqrt(area * ASPECT), beside ? area / Math.max(1, beside.height) : Infinity));
  const at: { x: number; y: number }[] = placed.map(() => ({ x: 0, y: 0 }));
  let [x, y, rowHeight, rowOfSingles] = [start, 0, 0, false];
  for (const p of others) {
    const alone = items[p]!.length === 1;
    const gap = alone ? GAP.between : BETWEEN_PARTS;
    if (x > start && (x + placed[p]!.width > limit || alone !== rowOfSingles)) {
      [x, y, rowHeight] = [start, y + rowHeight + gap, 0];
    }
    rowOfSingles = alone;
    at[p] = { x, y };
    x += placed[p]!.width + gap;
    rowHeight = Math.max(rowHeight, placed[p]!.height);
  }
  return at;
}

function join(
  problem: LayoutProblem, items: number[][], edges: number[][], placed: Placed[], order: number[],
  at: { x: number; y: number }[],
): Placed {
  const count = problem.left.length;
  const column = () => new Float32Array(count);
  const whole = { width: 0, height: 0, x: column(), y: column(), width_of: column(), height_of: column(), anchor: column() };
  const lines: Float32Array[] = Array.from({ length: problem.source.length });
  for (const p of order) {
    const [own, { x, y }] = [placed[p]!, at[p]!];
    whole.width = Math.max(whole.width, x + own.width);
    whole.height = Math.max(whole.height, y + own.height);
    items[p]!.forEach((item, k) => {
      whole.x[item] = own.x[k]! + x;
      whole.y[item] = own.y[k]! + y;
      whole.anchor[item] = own.anchor[k]! + x;
      whole.width_of[item] = own.width_of[k]!;
      whole.height_of[item] = own.height_of[k]!;
    });
    edges[p]!.forEach((edge, k) => {
      lines[edge] = own.points.slice(2 * own.start[k]!, 2 * own.start[k + 1]!).map((v, j) => v + (j % 2 ? y : x));
    });
  }
  const start = new Int32Array(lines.length + 1);
  lines.forEach((line, e) => (start[e + 1] = start[e]! + line.length / 2));
  const points = new Float32Array(2 * start[lines.length]!);
  lines.forEach((line, e) => points.set(line, 2 * start[e]!));
  return { ...whole, start, points };
}
