/** Rows of a layered layout: every edge goes down, except those of cycles, and edges are short. */
import { Rim } from "./problem";

/** Edges by columns; `start`/`list` are the edges of each node. */
export interface Adjacency {
  start: Int32Array;
  list: Int32Array;
}

export function adjacency(ends: Int32Array, nodes: number): Adjacency {
  const start = new Int32Array(nodes + 1);
  for (const end of ends) start[end + 1]!++;
  for (let i = 0; i < nodes; i++) start[i + 1]! += start[i]!;
  const next = start.slice();
  const list = new Int32Array(ends.length);
  for (let edge = 0; edge < ends.length; edge++) list[next[ends[edge]!]!++] = edge;
  return { start, list };
}

/** The row of each node, from 0. `source`/`target` must have no cycle. */
export function ranks(nodes: number, source: Int32Array, target: Int32Array, rim: Uint8Array): Int32Array {
  const out = adjacency(source, nodes);
  const into = adjacency(target, nodes);
  const rank = new Int32Array(nodes);
  const order = topological(nodes, out, target, into);
  for (const node of order) {
    if (rim[node] !== Rim.Top) rank[node] = Math.max(rank[node]!, 1);
    for (let k = out.start[node]!; k < out.start[node + 1]!; k++) {
      const to = target[out.list[k]!]!;
      rank[to] = Math.max(rank[to]!, rank[node]! + 1);
    }
  }
  pullDown(order, rank, out, into, target, rim);
  let last = 0;
  for (let node = 0; node < nodes; node++) if (rim[node] !== Rim.Bottom) last = Math.max(last, rank[node]!);
  for (let node = 0; node < nodes; node++) if (rim[node] === Rim.Bottom) rank[node] = last + 1;
  const lowest = rank.reduce((least, r) => Math.min(least, r), nodes > 0 ? rank[0]! : 0);
  return lowest > 0 ? rank.map((r) => r - lowest) : rank;
}

/** Nodes with more outputs than inputs move to just above what they feed. */
function pullDown(
  order: Int32Array, rank: Int32Array, out: Adjacency, into: Adjacency, target: Int32Array, rim: Uint8Array,
): void {
  for (let k = order.length - 1; k >= 0; k--) {
    const node = order[k]!;
    const leaving = out.start[node + 1]! - out.start[node]!;
    const entering = into.start[node + 1]! - into.start[node]!;
    if (rim[node] !== Rim.None || leaving === 0 || leaving <= entering) continue;
    let least = Infinity;
    for (let j = out.start[node]!; j < out.start[node + 1]!; j++) {
      const to = target[out.list[j]!]!;
      if (rim[to] !== Rim.Bottom) least = Math.min(least, rank[to]!);
    }
    if (least !== Infinity) rank[node] = Math.max(rank[node]!, least - 1);
  }
}

function topological(nodes: number, out: Adjacency, target: Int32Array, into: Adjacency): Int32Array {
  const waiting = new Int32Array(nodes);
  const order = new Int32Array(nodes);
  let filled = 0;
  for (let i = 0; i < nodes; i++) {
    waiting[i] = into.start[i + 1]! - into.start[i]!;
    if (waiting[i] === 0) order[filled++] = i;
  }
  for (let k = 0; k < filled; k++) {
    const node = order[k]!;
    for (let j = out.start[node]!; j < out.start[node + 1]!; j++) {
      const to = target[out.list[j]!]!;
      if (--waiting[to]! === 0) order[filled++] = to;
    }
  }
  return order.subarray(0, filled);
}
