/**
 * Horizontal places in rows, after Brandes and Köpf: four alignments of nodes with their median
 * neighbors, each compacted, and for each node the mean of the middle two. Long edges come out straight.
 */
import type { Layers } from "./layers";

/** How far each node extends from the line that its edges meet, with half of the gap to the next. */
export interface Extents {
  left: Float32Array;
  right: Float32Array;
}

/** The line of each node, such that neighbors in a row do not overlap. */
export function horizontalPlaces(layers: Layers, place: Int32Array, extents: Extents): Float64Array {
  const conflicts = markConflicts(layers, place);
  const answers: Float64Array[] = [];
  for (const fromTop of [true, false]) {
    for (const fromLeft of [true, false]) {
      const root = align(layers, place, conflicts, fromTop, fromLeft);
      answers.push(compact(layers, root, extents, fromLeft));
    }
  }
  return middle(answers, extents);
}

/** Pieces of edges that cross an inner piece (both ends bends): those keep the long edge straight. */
function markConflicts(layers: Layers, place: Int32Array): Uint8Array {
  const conflict = new Uint8Array(layers.source.length);
  const { items, above, source } = layers;
  const innerAbove = (node: number) => {
    if (node < items) return -1;
    const from = source[above.list[above.start[node]!]!]!;
    return from >= items ? from : -1;
  };
  for (let k = 1; k < layers.rows.length; k++) {
    const row = layers.rows[k]!;
    let low = 0;
    for (let scanned = 0, at = 0; at < row.length; at++) {
      const inner = innerAbove(row[at]!);
      if (inner < 0 && at < row.length - 1) continue;
      const high = inner < 0 ? layers.rows[k - 1]!.length - 1 : place[inner]!;
      for (; scanned <= at; scanned++) {
        const node = row[scanned]!;
        for (let j = above.start[node]!; j < above.start[node + 1]!; j++) {
          const from = source[above.list[j]!]!;
          const isInner = from >= items && node >= items;
          if (!isInner && (place[from]! < low || place[from]! > high)) conflict[above.list[j]!] = 1;
        }
      }
      low = high;
    }
  }
  return conflict;
}

function align(
  layers: Layers, place: Int32Array, conflict: Uint8Array, fromTop: boolean, fromLeft: boolean,
): Int32Array {
  const count = place.length;
  const root = Int32Array.from({ length: count }, (_, i) => i);
  const next = root.slice();
  const side = fromTop ? layers.above : layers.below;
  const other = fromTop ? layers.source : layers.target;
  const rows = layers.rows;
  for (let k = 1; k < rows.length; k++) {
    const row = rows[fromTop ? k : rows.length - 1 - k]!;
    let bound = fromLeft ? -1 : Infinity;
    for (let j = 0; j < row.length; j++) {
      const node = row[fromLeft ? j : row.length - 1 - j]!;
      const first = side.start[node]!;
      const half = (side.start[node + 1]! - first - 1) / 2;
      if (half < 0) continue;
      for (let attempt = 0; attempt < 2 && next[node] === node; attempt++) {
        const lower = (attempt === 0) === fromLeft;
        const piece = side.list[first + (lower ? Math.floor(half) : Math.ceil(half))]!;
        const peer = other[piece]!;
        const free = fromLeft ? place[peer]! > bound : place[peer]! < bound;
        if (conflict[piece] || !free) continue;
        next[peer] = node;
        root[node] = root[peer]!;
        next[node] = root[node]!;
        bound = place[peer]!;
      }
    }
  }
  return root;
}

/** Blocks of aligned nodes as close together as their extents allow. */
function compact(layers: Layers, root: Int32Array, extents: Extents, fromLeft: boolean): Float64Array {
  const count = root.length;
  const from: number[] = [];
  const to: number[] = [];
  const gap: number[] = [];
  for (const row of layers.rows) {
    for (let k = 1; k < row.length; k++) {
      const [a, b] = [row[k - 1]!, row[k]!];
      from.push(root[a]!);
      to.push(root[b]!);
      gap.push(extents.right[a]! + extents.left[b]!);
    }
  }
  const order = blockOrder(count, from, to);
  const x = new Float64Array(count);
  if (fromLeft) {
    for (const e of order) x[to[e]!] = Math.max(x[to[e]!]!, x[from[e]!]! + gap[e]!);
    pullTogether(order, from, to, gap, x, 1);
  } else {
    for (let k = order.length - 1; k >= 0; k--) {
      const e = order[k]!;
      x[from[e]!] = Math.min(x[from[e]!]!, x[to[e]!]! - gap[e]!);
    }
    pullTogether(order.slice().reverse(), from, to, gap, x, -1);
  }
  return root.length ? Float64Array.from(root, (r) => x[r]!) : x;
}

/** Blocks with free space on their far side move there: toward what they are beside. */
function pullTogether(
  order: Int32Array, from: number[], to: number[], gap: number[], x: Float64Array, sign: 1 | -1,
): void {
  const limit = new Float64Array(x.length).fill(sign * Infinity);
  for (let k = order.length - 1; k >= 0; k--) {
    const e = order[k]!;
    const [near, far] = sign > 0 ? [from[e]!, to[e]!] : [to[e]!, from[e]!];
    const settled = Number.isFinite(limit[far]!) ? limit[far]! : x[far]!;
    const candidate = settled - sign * gap[e]!;
    limit[near] = sign > 0 ? Math.min(limit[near]!, candidate) : Math.max(limit[near]!, candidate);
  }
  for (let i = 0; i < x.length; i++) if (Number.isFinite(limit[i]!)) x[i] = limit[i]!;
}

/** The constraints between blocks, each after all of those that lead to it. */
function blockOrder(count: number, from: number[], to: number[]): Int32Array {
  const waiting = new Int32Array(count);
  for (const block of to) waiting[block]!++;
  const start = new Int32Array(count + 1);
  for (const block of from) start[block + 1]!++;
  for (let i = 0; i < count; i++) start[i + 1]! += start[i]!;
  const next = start.slice();
  const list = new Int32Array(from.length);
  from.forEach((block, e) => (list[next[block]!++] = e));
  const ready: number[] = [];
  for (let i = 0; i < count; i++) if (waiting[i] === 0) ready.push(i);
  const order = new Int32Array(from.length);
  let filled = 0;
  for (let k = 0; k < ready.length; k++) {
    const block = ready[k]!;
    for (let j = start[block]!; j < start[block + 1]!; j++) {
      const e = list[j]!;
      order[filled++] = e;
      if (--waiting[to[e]!]! === 0) ready.push(to[e]!);
    }
  }
  return order.subarray(0, filled);
}

/** Move all answers onto the narrowest, then take the mean of the middle two. */
function middle(answers: Float64Array[], extents: Extents): Float64Array {
  const bounds = answers.map((x) => {
    let [least, most] = [Infinity, -Infinity];
    x.forEach((value, i) => {
      least = Math.min(least, value - extents.left[i]!);
      most = Math.max(most, value + extents.right[i]!);
    });
    return [least, most] as const;
  });
  const narrow = bounds.reduce((a, b) => (b[1] - b[0] < a[1] - a[0] ? b : a));
  const shift = bounds.map(([least, most], k) => (k % 2 === 0 ? narrow[0] - least : narrow[1] - most));
  return Float64Array.from(answers[0]!, (_, i) => {
    const sorted = answers.map((x, k) => x[i]! + shift[k]!).sort((a, b) => a - b);
    return (sorted[1]! + sorted[2]!) / 2;
  });
}
