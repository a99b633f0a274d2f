/** Which blocks show a search result, themselves or inside. */
import type { NodeAddress } from "../api/types";
import type { Scene } from "./scene/scene";
import type { Block } from "./scene/block";

/** The keys of the closed blocks that are, or hold, a matching node. */
export function marksOf(scene: Scene, matches: readonly NodeAddress[]): Set<string> {
  const byGraph = new Map<string, string[]>();
  for (const { graph, node } of matches) (byGraph.get(graph) ?? byGraph.set(graph, []).get(graph)!).push(node);
  const marked = new Set<string>();
  if (!matches.length) return marked;
  const items = new Map<string, Int32Array>();
  for (const block of scene.blocks) if (!block.expanded && holds(block, byGraph, items)) marked.add(block.key);
  return marked;
}

function holds(block: Block, byGraph: Map<string, string[]>, items: Map<string, Int32Array>): boolean {
  if (block.calls.some((id) => byGraph.has(id))) return true;
  const { hierarchy } = block.instance;
  const names = byGraph.get(hierarchy.graph.id);
  if (!names || block.kind === "graph") return false;
  let sorted = items.get(hierarchy.graph.id);
  if (!sorted) {
    sorted = Int32Array.from(names, (name) => hierarchy.itemShowing(hierarchy.nodeNamed(name) ?? 0)).sort();
    items.set(hierarchy.graph.id, sorted);
  }
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < block.item) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length && hierarchy.contains(block.item, sorted[low]!);
}
