/** The order of each row, so that few edges cross: sweeps by barycenter, then exchanges of neighbors. */
import type { Layers } from "./layers";
import type { Adjacency } from "./rank";

/** Work is bounded: sweeps times pieces of edges. */
const WORK = 700_000;
const MOST_SWEEPS = 24;

/** Put the rows of a layered graph in order, in place; returns the place of each node in its row. */
export function orderRows(layers: Layers): Int32Array {
  const place = new Int32Array(layers.rank.length);
  startOrder(layers, place);
  let best = layers.rows.map((row) => row.slice());
  let fewest = crossings(layers, place);
  const sweeps = Math.max(2, Math.min(MOST_SWEEPS, Math.floor(WORK / (layers.source.length + 1))));
  for (let sweep = 0, stale = 0; sweep < sweeps && fewest > 0 && stale < 5; sweep++) {
    sweepOnce(layers, place, sweep % 2 === 0, sweep % 4 < 2);
    if (layers.source.length < 4000) exchange(layers, place);
    const now = crossings(layers, place);
    if (now < fewest) {
      fewest = now;
      best = layers.rows.map((row) => row.slice());
      stale = 0;
    } else stale++;
  }
  layers.rows = best;
  for (const row of best) row.forEach((node, k) => (place[node] = k));
  sortEdges(layers);
  return place;
}

/** The edges of each node from left to right, as the rows are now. */
function sortEdges(layers: Layers): void {
  const { rows, above, below, source, target } = layers;
  const sort = (side: Adjacency, opposite: Adjacency, end: Int32Array) => {
    const next = side.start.slice();
    for (const row of rows) {
      for (const node of row) {
        for (let k = opposite.start[node]!; k < opposite.start[node + 1]!; k++) {
          const edge = opposite.list[k]!;
          side.list[next[end[edge]!]!++] = edge;
        }
      }
    }
  };
  sort(above, { ...below, list: below.list.slice() }, target);
  sort(below, { ...above, list: above.list.slice() }, source);
}

/** A depth-first walk keeps what belongs together side by side. */
function startOrder(layers: Layers, place: Int32Array): void {
  const filled = new Int32Array(layers.rows.length);
  const seen = new Uint8Array(place.length);
  for (let root = 0; root < layers.items; root++) {
    if (layers.above.start[root] !== layers.above.start[root + 1]) continue;
    const open = [root];
    while (open.length) {
      const node = open.pop()!;
      if (seen[node]) continue;
      seen[node] = 1;
      const rank = layers.rank[node]!;
      place[node] = filled[rank]!++;
      const { start, list } = layers.below;
      for (let k = start[node + 1]! - 1; k >= start[node]!; k--) open.push(layers.target[list[k]!]!);
    }
  }
  for (const row of layers.rows) row.sort((a, b) => place[a]! - place[b]!);
}

function sweepOnce(layers: Layers, place: Int32Array, down: boolean, keepTies: boolean): void {
  const { rows } = layers;
  const { start, list } = down ? layers.above : layers.below;
  const other = down ? layers.source : layers.target;
  const weight = new Float64Array(place.length);
  for (let k = 1; k < rows.length; k++) {
    const row = rows[down ? k : rows.length - 1 - k]!;
    for (const node of row) {
      let sum = 0;
      const count = start[node + 1]! - start[node]!;
      for (let j = start[node]!; j < start[node + 1]!; j++) sum += place[other[list[j]!]!]!;
      weight[node] = count ? sum / count : -1;
    }
    sortMovable(row, weight, place, keepTies);
    row.forEach((node, at) => (place[node] = at));
  }
}

/** Sort by weight; nodes without neighbors (weight -1) keep their places. */
function sortMovable(row: Int32Array, weight: Float64Array, place: Int32Array, keepTies: boolean): void {
  if (row.length < 2) return;
  const tie = keepTies ? 1 : -1;
  const movable = row.filter((node) => weight[node]! >= 0);
  const sorted = movable.sort((a, b) => weight[a]! - weight[b]! || tie * (place[a]! - place[b]!));
  let next = 0;
  for (let k = 0; k < row.length; k++) if (weight[row[k]!]! >= 0) row[k] = sorted[next++]!;
}

/** Exchange neighbors while that removes crossings. */
function exchange(layers: Layers, place: Int32Array): void {
  for (let round = 0, better = true; better && round < 4; round++) {
    better = false;
    for (const row of layers.rows) {
      for (let k = 0; k + 1 < row.length; k++) {
        const [a, b] = [row[k]!, row[k + 1]!];
        const kept = pairCrossings(layers, place, a, b);
        if (kept === 0 || pairCrossings(layers, place, b, a) >= kept) continue;
        row[k] = b;
        row[k + 1] = a;
        place[b] = k;
        place[a] = k + 1;
        better = true;
      }
    }
  }
}

/** The crossings between the edges of two neighbors, if `a` is left of `b`. */
function pairCrossings(layers: Layers, place: Int32Array, a: number, b: number): number {
  let count = 0;
  for (const [side, other] of [[layers.above, layers.source], [layers.below, layers.target]] as const) {
    for (let i = side.start[a]!; i < side.start[a + 1]!; i++) {
      const at = place[other[side.list[i]!]!]!;
      for (let j = side.start[b]!; j < side.start[b + 1]!; j++) if (place[other[side.list[j]!]!]! < at) count++;
    }
  }
  return count;
}

/** The number of crossings, by a binary indexed tree for each pair of rows. */
export function crossings(layers: Layers, place: Int32Array): number {
  const { below, target, rows } = layers;
  const widest = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const tree = new Int32Array(widest + 1);
  let total = 0;
  for (let k = 0; k + 1 < rows.length; k++) {
    const size = rows[k + 1]!.length;
    tree.fill(0, 0, size + 1);
    let seen = 0;
    for (const node of rows[k]!) {
      const [from, to] = [below.start[node]!, below.start[node + 1]!];
      // Edges of one node do not cross each other: all are counted before any is added.
      for (let j = from; j < to; j++) {
        let notGreater = 0;
        for (let at = place[target[below.list[j]!]!]! + 1; at > 0; at -= at & -at) notGreater += tree[at]!;
        total += seen - notGreater;
      }
      for (let j = from; j < to; j++) {
        for (let at = place[target[below.list[j]!]!]! + 1; at <= size; at += at & -at) tree[at]!++;
      }
      seen += to - from;
    }
  }
  return total;
}
