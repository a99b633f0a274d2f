/** The layout of all expanded blocks: problems for the worker, bottom up, those solved before left out. */
import type { LayoutProblem, LayoutResult, PlacedSize } from "../layout/problem";
import { Rim } from "../layout/problem";
import { blocksOf, type Block } from "./block";
import { connect, type Connections } from "./connect";
import { sizeOf, type BoxSize, type Measure } from "./sizes";

/** Solves problems in order, in a worker; null for each that was only a size. */
export type Solver = (problems: (LayoutProblem | PlacedSize)[]) => Promise<(LayoutResult | null)[]>;

export interface Arrangement {
  results: Map<Block, LayoutResult>;
  connections: Map<Block, Connections>;
  sizes: Map<Block, BoxSize>;
}

/** Results by what they depend on, the oldest dropped when there are many. */
export class LayoutCache {
  private readonly results = new Map<string, LayoutResult>();
  private items = 0;

  constructor(private readonly most = 400_000) {}

  get(key: string): LayoutResult | undefined {
    return this.results.get(key);
  }

  set(key: string, result: LayoutResult): void {
    this.items += result.x.length;
    this.results.set(key, result);
    for (const [oldest, old] of this.results) {
      if (this.items <= this.most || oldest === key) break;
      this.results.delete(oldest);
      this.items -= old.x.length;
    }
  }
}

export async function arrange(root: Block, measure: Measure, cache: LayoutCache, solve: Solver): Promise<Arrangement> {
  const expanded = blocksOf(root).filter((block) => block.expanded).reverse();
  const arrangement: Arrangement = { results: new Map(), connections: new Map(), sizes: new Map() };
  const keys = new Map<Block, string>();
  const index = new Map<Block, number>();
  const problems: (LayoutProblem | PlacedSize)[] = [];
  for (const block of expanded) {
    const connections = connect(block, arrangement.connections);
    arrangement.connections.set(block, connections);
    const key = cacheKey(block, keys, connections);
    keys.set(block, key);
    const sizes = block.children.map((child) => sizeOf(child, measure));
    block.children.forEach((child, k) => arrangement.sizes.set(child, sizes[k]!));
    const known = cache.get(key);
    if (known) arrangement.results.set(block, known);
    index.set(block, problems.length);
    problems.push(
      known ? { width: known.width, height: known.height, anchor: known.anchor } : problemOf(block, connections, sizes, index),
    );
  }
  const results = expanded.length === arrangement.results.size ? [] : await solve(problems);
  expanded.forEach((block, k) => {
    const result = results[k];
    if (!result) return;
    arrangement.results.set(block, result);
    cache.set(keys.get(block)!, result);
  });
  return arrangement;
}

/** Everything that the layout of a block depends on: what it shows, and which children are expanded how,
 *  and what a call passes. */
function cacheKey(block: Block, keys: Map<Block, string>, { list }: Connections): string {
  const shown = block.inner ? `${block.inner.instance.hierarchy.graph.id}#${block.inner.scope}` : block.calls.join(" ");
  const passed = list.filter(({ instance }) => instance !== block.inner?.instance);
  const inner = passed.length ? `${shown}<${digest(passed.map(({ from, to }) => `${from} ${to}`).join())}` : shown;
  const expanded = block.children.flatMap((child, k) => (child.expanded ? [`${k}(${keys.get(child)})`] : []));
  return expanded.length ? `${inner}:${digest(expanded.join())}` : inner;
}

function digest(text: string): string {
  let [a, b] = [0x811c9dc5, 0x1b873593];
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b) ^ (b >>> 13);
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}.${text.length}`;
}

function problemOf(block: Block, { ports, list }: Connections, sizes: BoxSize[], index: Map<Block, number>): LayoutProblem {
  const items = block.children.length + ports.rims.length;
  const column = (value: (size: BoxSize) => number) => {
    const values = new Float32Array(items);
    sizes.forEach((size, k) => (values[k] = value(size)));
    return values;
  };
  const nested = new Int32Array(items).fill(-1);
  const rim = new Uint8Array(items).fill(Rim.None);
  block.children.forEach((child, k) => (nested[k] = child.expanded ? index.get(child)! : -1));
  ports.rims.forEach((kind, k) => (rim[block.children.length + k] = kind));
  return {
    left: column((size) => size.left), right: column((size) => size.right), height: column((size) => size.height),
    nested, rim,
    source: Int32Array.from(list, (c) => c.from), target: Int32Array.from(list, (c) => c.to),
    weight: Float32Array.from(list, (c) => c.edges.length),
    sourcePort: Int32Array.from(list, (c) => c.fromPort), targetPort: Int32Array.from(list, (c) => c.toPort),
  };
}
