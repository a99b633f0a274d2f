/** The ends of edges that are too long to be routed: one for all such edges at the top or bottom of a box. */
import type { Block } from "./block";
import type { SceneEdge } from "./scene";

const LENGTH = 16;
const FROM_SIDE = 12;

/** A short line at a box. */
export interface Stub {
  block: Block;
  way: "into" | "out";
  edges: SceneEdge[];
  /** The end that is not at the box. */
  x: number;
  y: number;
}

export function stubsOf(edges: readonly SceneEdge[]): Stub[] {
  const stubs = new Map<string, Stub>();
  const add = (block: Block | null, way: Stub["way"], edge: SceneEdge) => {
    if (!block) return;
    const key = `${way} ${block.key}`;
    const known = stubs.get(key);
    if (known) known.edges.push(edge);
    else stubs.set(key, { block, way, edges: [edge], ...stubEnd(block, way) });
  };
  for (const edge of edges) {
    if (edge.points.length) continue;
    add(edge.from, "out", edge);
    add(edge.to, "into", edge);
  }
  return [...stubs.values()];
}

/** Where a stub of a box ends. */
export function stubEnd(block: Block, way: Stub["way"]): { x: number; y: number } {
  return { x: block.x + block.width - FROM_SIDE, y: way === "into" ? block.y - LENGTH : block.y + block.height + LENGTH };
}

/** The y of the end at the box. */
export function stubBase({ block, way }: Stub): number {
  return way === "into" ? block.y : block.y + block.height;
}

/** The blocks at the other ends, each once: as deep inside of open scopes as they are shown. */
export function farEnds({ edges, way }: Stub, byKey: ReadonlyMap<string, Block>): Block[] {
  const ends = new Set<Block>();
  for (const { instance, edges: ids } of edges) {
    const { tree, graph } = instance.hierarchy;
    for (const id of ids) {
      const node = (way === "out" ? graph.target : graph.source)[id]!;
      for (let item = tree.item[node]!; item > 0; item = tree.parent[item]!) {
        const block = byKey.get(`${instance.key}|${item}`);
        if (!block) continue;
        ends.add(block);
        break;
      }
    }
  }
  return [...ends];
}
