/** What is shown beside the boxes themselves: the pointer, the selection, search results, an overlay. */
import type { Block, Instance } from "../scene/block";
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
  const { into, out } = edgeIds(block);
  const highlight: Highlight = { into: new Set(), out: new Set() };
  for (const edge of scene.edges) {
    if (!sameInstance(edge.instance, block.instance)) continue;
    if (edge.edges.some((id) => into.has(id))) highlight.into.add(edge);
    else if (edge.edges.some((id) => out.has(id))) highlight.out.add(edge);
  }
  return highlight;
}

function sameInstance(a: Instance, b: Instance): boolean {
  return a.key === b.key;
}

function edgeIds(block: Block): { into: Set<number>; out: Set<number> } {
  if (block.kind === "graph") return { into: new Set(), out: new Set() };
  const around = block.instance.hierarchy.edgesAround(block.item);
  return { into: new Set(around.into), out: new Set(around.out) };
}
