/**
 * Nodes that are alike and side by side: the same op in the same scope, reading from the same nodes.
 *
 * Hundreds of them, as in the function that restores variables, are one box until it is opened.
 * Nodes that read from the members of one group are alike as well. The first groups are what is left over.
 */
import { Role, type GraphData } from "../../api/types";
import { edgesBy } from "./satellites";
import { findLeftovers } from "./leftovers";
import type { Groups } from "./scope_tree";

/** Fewer nodes than this stay boxes of their own. */
const LEAST = 16;
const LEAST_INPUTS = 40;
const BUCKETS = 1 << 18;

export function findGroups(graph: GraphData, leaveOut: (node: number) => boolean): Groups {
  const count = graph.names.length;
  const into = edgesBy(graph.target, count);
  const { of, labels } = findLeftovers(graph);
  const atRoot = labels.length;
  let waiting = candidates(graph, into, (node) => leaveOut(node) || of[node]! >= 0 || graph.role[node] === Role.Call);
  // Each round finds groups whose members read from groups of the round before.
  for (let round = 0; round < 4 && waiting.length; round++) {
    const alike = new Map<string, number[]>();
    for (const node of waiting) {
      const key = likeness(graph, node, into, leaveOut, of, round > 0);
      if (key === null) continue;
      const list = alike.get(key);
      if (list) list.push(node);
      else alike.set(key, [node]);
    }
    const before = labels.length;
    for (const nodes of alike.values()) {
      if (nodes.length < (graph.role[nodes[0]!] === Role.Input ? LEAST_INPUTS : LEAST)) continue;
      for (const node of nodes) of[node] = labels.length;
      labels.push(`${nodes.length.toLocaleString("en")} × ${graph.ops[graph.op[nodes[0]!]!]}`);
    }
    if (labels.length === before) break;
    waiting = readersOf(graph, (node) => of[node]! >= before, (node) => !leaveOut(node) && of[node]! < 0);
  }
  return { of, labels, atRoot };
}

/** Nodes of which enough have the same op and the same first input: all others are in no group. */
function candidates(graph: GraphData, into: { start: Int32Array; edges: Int32Array }, leaveOut: (node: number) => boolean): number[] {
  const count = graph.names.length;
  const alike = new Int32Array(BUCKETS);
  const bucket = new Int32Array(count).fill(-1);
  for (let node = 0; node < count; node++) {
    if (leaveOut(node)) continue;
    const none = into.start[node] === into.start[node + 1];
    const source = none ? -1 : graph.source[into.edges[into.start[node]!]!]!;
    const kept = source < 0 || leaveOut(source) ? 0 : source + 1;
    bucket[node] = (Math.imul(graph.op[node]! + 1, 0x9e3779b1) ^ Math.imul(kept, 0x85ebca6b)) & (BUCKETS - 1);
    alike[bucket[node]!]!++;
  }
  const kept: number[] = [];
  for (let node = 0; node < count; node++) if (bucket[node]! >= 0 && alike[bucket[node]!]! >= LEAST) kept.push(node);
  return kept;
}

/** The nodes that read from some, each once, of those that may be in a group. */
function readersOf(graph: GraphData, isRead: (node: number) => boolean, mayBe: (node: number) => boolean): number[] {
  const readers = new Set<number>();
  graph.source.forEach((source, edge) => {
    if (isRead(source) && mayBe(graph.target[edge]!) && graph.role[graph.target[edge]!] !== Role.Call) readers.add(graph.target[edge]!);
  });
  return [...readers].sort((a, b) => a - b);
}

/** What two nodes of a group share, or null for a node that is in none. */
function likeness(
  graph: GraphData, node: number, into: { start: Int32Array; edges: Int32Array }, leaveOut: (node: number) => boolean,
  group: Int32Array, readsGroup: boolean,
): string | null {
  const name = graph.names[node]!;
  const scope = name.slice(0, Math.max(0, name.lastIndexOf("/")));
  const sources: string[] = [];
  let anyGroup = false;
  for (let k = into.start[node]!; k < into.start[node + 1]!; k++) {
    const source = graph.source[into.edges[k]!]!;
    if (leaveOut(source)) continue;
    if (group[source]! >= 0) anyGroup = true;
    sources.push(group[source]! >= 0 ? `g${group[source]}` : String(source));
    if (sources.length > 4) return null;
  }
  if (readsGroup && !anyGroup) return null;
  return `${graph.op[node]} ${graph.role[node]} ${sources.join(" ")} ${scope}`;
}
