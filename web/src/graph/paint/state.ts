/** What is shown beside the boxes themselves: the pointer, the selection, search results, an overlay. */
import type { Block } from "../scene/block";
import type { Scene, SceneEdge } from "../scene/scene";
import type { Tones } from "../overlay_index";

/** A block, or a satellite of it. */
export interface Target {
  block: Block;
  /** The place among its satellites, or -1 for the block itself. */
  satellite: number;
}

export interface PaintState {
  hovered: Target | null;
  selected: Target | null;
  /** Keys of blocks that show a search result. */
  marked: ReadonlySet<string>;
  overlay: Tones | null;
  controls: boolean;
}

/** The edges that lead to a block and from it. */
export interface Highlight {
  into: Set<SceneEdge>;
  out: Set<SceneEdge>;
}

const known = new WeakMap<Scene, { block: Block; highlight: Highlight }>();

/** All drawn parts of the edges that enter or leave a block. */
export function highlightOf(scene: Scene, { block }: Target): Highlight {
  const last = known.get(scene);
  if (last?.block === block) return last.highlight;
  const highlight = findHighlight(scene, block);
  known.set(scene, { block, highlight });
  return highlight;
}

function findHighlight(scene: Scene, block: Block): Highlight {
  const ids = edgeIds(scene, block);
  const highlight: Highlight = { into: new Set(), out: new Set() };
  for (const edge of scene.edges) {
    const own = ids.get(edge.instance.key);
    if (!own) continue;
    if (edge.edges.some((id) => own.into.has(id))) highlight.into.add(edge);
    else if (edge.edges.some((id) => own.out.has(id))) highlight.out.add(edge);
  }
  return highlight;
}

interface EdgeIds {
  into: Set<number>;
  out: Set<number>;
}

/** The edges that enter or leave a block by the instance that they are from: an argument has those of its caller. */
function edgeIds(scene: Scene, block: Block): Map<string, EdgeIds> {
  const ids = new Map<string, EdgeIds>();
  const of = (key: string) => ids.get(key) ?? ids.set(key, { into: new Set(), out: new Set() }).get(key)!;
  if (block.kind !== "graph") {
    const around = block.instance.hierarchy.edgesAround(block.item);
    ids.set(block.instance.key, { into: new Set(around.into), out: new Set(around.out) });
  }
  for (const { instance, edges, from, to } of scene.edges) {
    if (to === block) for (const edge of edges) of(instance.key).into.add(edge);
    if (from === block) for (const edge of edges) of(instance.key).out.add(edge);
  }
  return ids;
}
