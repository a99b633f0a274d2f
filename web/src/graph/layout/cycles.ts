/** Which edges of a cycle are drawn upward: few, and of little weight. */
import { adjacency, type Adjacency } from "./rank";

/** Above this many nodes, a depth-first walk decides. */
const MOST_GREEDY = 4000;

/** For each edge, whether it is drawn upward. */
export function upwardEdges(nodes: number, source: Int32Array, target: Int32Array, weight: Float32Array): Uint8Array {
  const closing = closingEdges(nodes, source, target);
  if (nodes > MOST_GREEDY || closing.every((flag) => flag === 0)) return closing;
  const place = greedyOrder(nodes, source, target, weight);
  return Uint8Array.from(source, (from, edge) => (place[from]! > place[target[edge]!]! ? 1 : 0));
}

/** Edges that close a cycle in a depth-first walk from the sources. */
function closingEdges(nodes: number, source: Int32Array, target: Int32Array): Uint8Array {
  const out = adjacency(source, nodes);
  const closing = new Uint8Array(source.length);
  const entering = new Int32Array(nodes);
  for (const node of target) entering[node]!++;
  const state = new Uint8Array(nodes);
  const next = out.start.slice(0, nodes);
  const roots = [...Array(nodes).keys()].sort((a, b) => Math.sign(entering[a]!) - Math.sign(entering[b]!) || a - b);
  for (const root of roots) {
    if (state[root]) continue;
    const path = [root];
    state[root] = 1;
    while (path.length) {
      const node = path[path.length - 1]!;
      if (next[node]! === out.start[node + 1]!) {
        state[node] = 2;
        path.pop();
        continue;
      }
      const edge = out.list[next[node]!++]!;
      const to = target[edge]!;
      if (state[to] === 1) closing[edge] = 1;
      else if (state[to] === 0) {
        state[to] = 1;
        path.push(to);
      }
    }
  }
  return closing;
}

/** Sources first, sinks last, else the node that gives most more than it takes (Eades, Lin and Smyth). */
function greedyOrder(nodes: number, source: Int32Array, target: Int32Array, weight: Float32Array): Int32Array {
  const out = adjacency(source, nodes);
  const into = adjacency(target, nodes);
  const leaving = new Float64Array(nodes);
  const entering = new Float64Array(nodes);
  source.forEach((node, edge) => (leaving[node]! += weight[edge]!));
  target.forEach((node, edge) => (entering[node]! += weight[edge]!));
  const left = new Set(Array(nodes).keys());
  const place = new Int32Array(nodes);
  let [first, last] = [0, nodes - 1];
  const remove = (node: number) => {
    left.delete(node);
    ease(out, node, target, entering, weight);
    ease(into, node, source, leaving, weight);
  };
  while (left.size) {
    let moved = false;
    for (const node of left) {
      if (leaving[node]! <= 0 && entering[node]! > 0) place[node] = last--;
      else if (entering[node]! <= 0) place[node] = first++;
      else continue;
      remove(node);
      moved = true;
    }
    if (moved || !left.size) continue;
    let best = -1;
    for (const node of left) if (best < 0 || leaving[node]! - entering[node]! > leaving[best]! - entering[best]!) best = node;
    place[best] = first++;
    remove(best);
  }
  return place;
}

function ease(side: Adjacency, node: number, other: Int32Array, load: Float64Array, weight: Float32Array): void {
  for (let k = side.start[node]!; k < side.start[node + 1]!; k++) load[other[side.list[k]!]!]! -= weight[side.list[k]!]!;
}
