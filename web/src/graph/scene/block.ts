/** A box of the picture: a node, a scope, or a graph that a node calls. */
import type { Hierarchy } from "../hierarchy/hierarchy";
import type { Satellite } from "../hierarchy/satellites";
import type { Boundary } from "./crossings";

/** A graph at one place of the picture: the displayed one, or one inside of a node that calls it. */
export interface Instance {
  key: string;
  hierarchy: Hierarchy;
  /** The key of the block that it is inside of, or "" for the displayed graph. */
  inside: string;
  /** What the node that calls it passes and gets; null for the displayed graph. */
  boundary: Boundary | null;
}

export interface Block {
  key: string;
  kind: "node" | "scope" | "graph";
  instance: Instance;
  /** The item of the instance's hierarchy that it shows. For a graph that a node calls, that of the node. */
  item: number;
  title: string;
  subtitle: string;
  /** The number of nodes inside. */
  size: number;
  /** The graphs that it calls. */
  calls: string[];
  expandable: boolean;
  expanded: boolean;
  children: Block[];
  /** The graph and scope that the children are from, if it is expanded and they are connected. */
  inner: { instance: Instance; scope: number } | null;
  satellites: readonly Satellite[];
  moreSatellites: number;
  depth: number;
  parent: Block | null;
  /** Its place in the picture. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Where its satellites begin; the same as `x` without any. */
  left: number;
}

/** The key of an item of an instance. */
export function blockKey(instance: Instance, item: number): string {
  return `${instance.key}|${item}`;
}

/** The key of the `index`th graph that a block calls, at this place. */
export function instanceKey(block: string, index: number): string {
  return `${block}>${index}`;
}

/** The node that a block shows, or -1. */
export function nodeOfBlock(block: Block): number {
  return block.kind === "node" ? block.instance.hierarchy.nodeOf(block.item) : -1;
}

/** A block and all below it, parents first and children in order. */
export function blocksOf(block: Block): Block[] {
  const all: Block[] = [];
  const open = [block];
  while (open.length) {
    const next = open.pop()!;
    all.push(next);
    for (let k = next.children.length - 1; k >= 0; k--) open.push(next.children[k]!);
  }
  return all;
}
