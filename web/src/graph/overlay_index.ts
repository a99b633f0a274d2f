/** An overlay by item: the tone of each node, and for a scope the worst inside and how many nodes have it. */
import type { GraphSummary } from "../api/types";
import type { Hierarchy } from "./hierarchy/hierarchy";
import type { Overlay, Tone } from "./overlay";
import type { Block } from "./scene/block";

const BY_WEIGHT: readonly Tone[] = ["bad", "gone", "added", "changed", "warn", "note", "good"];

/** The tone of a block with the number of nodes that have it, or its value on the heat scale from 0 to 1. */
export interface BlockTone {
  tone: Tone | null;
  count: number;
  value: number | null;
  heat: number;
}

interface Sums {
  /** For each entry of the legend, the number of nodes of each item. */
  counts: Int32Array[];
  values: Float64Array | null;
}

const STRETCH = 40;

/** The sum of all values of an overlay. */
export function totalOf(overlay: Overlay): number {
  let sum = 0;
  for (const values of overlay.values?.values() ?? []) for (const value of values.values()) sum += value;
  return sum;
}

const NOTHING: BlockTone = { tone: null, count: 0, value: null, heat: 0 };

export class Tones {
  private readonly sums = new Map<string, Sums>();
  private readonly order: number[];
  private readonly most: number;
  private readonly sum: number;

  constructor(
    readonly overlay: Overlay,
    private readonly hierarchies: ReadonlyMap<string, Hierarchy>,
    private readonly summaries: ReadonlyMap<string, GraphSummary>,
  ) {
    this.order = overlay.legend.map((_, k) => k)
      .sort((a, b) => BY_WEIGHT.indexOf(overlay.legend[a]!.tone) - BY_WEIGHT.indexOf(overlay.legend[b]!.tone));
    this.most = [...(overlay.values?.values() ?? [])].reduce(
      (most, values) => [...values.values()].reduce((m, v) => Math.max(m, v), most), 0,
    );
    this.sum = totalOf(overlay);
  }

  of(block: Block): BlockTone {
    const total = this.totals(block);
    if (this.overlay.values) {
      const value = total.value;
      if (value === null || value <= 0) return { ...NOTHING, value };
      return { tone: null, count: 0, value, heat: this.heatOf(value) };
    }
    const worst = this.order.find((k) => total.counts[k]! > 0);
    if (worst === undefined) return NOTHING;
    return { tone: this.overlay.legend[worst]!.tone, count: total.counts[worst]!, value: null, heat: 0 };
  }

  /** From 0 to 1 by the logarithm, so that single nodes and whole scopes both have a place on the scale. */
  private heatOf(value: number): number {
    if (this.most <= 0) return 0;
    return Math.min(1, Math.log1p((STRETCH * value) / this.most) / Math.log1p((STRETCH * this.sum) / this.most));
  }

  /** The tone of one node, as for a satellite. */
  ofNode(graph: string, name: string): Tone | null {
    const entry = this.overlay.tones?.get(graph)?.get(name);
    return entry === undefined ? null : this.overlay.legend[entry]?.tone ?? null;
  }

  private totals(block: Block): { counts: number[]; value: number | null } {
    const counts = this.overlay.legend.map(() => 0);
    let value: number | null = null;
    const add = (sums: Sums, item: number) => {
      sums.counts.forEach((column, k) => (counts[k]! += column[item]!));
      if (sums.values && sums.values[item]! > 0) value = (value ?? 0) + sums.values[item]!;
    };
    if (block.kind !== "graph") add(this.sumsOf(block.instance.hierarchy), block.item);
    for (const id of block.calls) this.addGraph(id, add, new Set());
    return { counts, value };
  }

  /** What is in a graph that a block calls, and in those that it calls, each once. */
  private addGraph(id: string, add: (sums: Sums, item: number) => void, seen: Set<string>): void {
    if (seen.has(id) || !this.summaries.has(id)) return;
    seen.add(id);
    const hierarchy = this.hierarchies.get(id);
    if (!hierarchy) {
      this.addByName(id, add);
      return;
    }
    add(this.sumsOf(hierarchy), 0);
    for (const called of hierarchy.graphs.values()) for (const other of called) this.addGraph(other, add, seen);
  }

  private addByName(id: string, add: (sums: Sums, item: number) => void): void {
    const counts = this.overlay.legend.map(() => new Int32Array(1));
    for (const entry of this.overlay.tones?.get(id)?.values() ?? []) counts[entry]![0]!++;
    let sum = 0;
    for (const value of this.overlay.values?.get(id)?.values() ?? []) sum += value;
    add({ counts, values: Float64Array.of(sum) }, 0);
  }

  private sumsOf(hierarchy: Hierarchy): Sums {
    const id = hierarchy.graph.id;
    let sums = this.sums.get(id);
    if (!sums) this.sums.set(id, (sums = this.sumUp(hierarchy)));
    return sums;
  }

  private sumUp(hierarchy: Hierarchy): Sums {
    const { count, tree } = hierarchy;
    const counts = this.overlay.legend.map(() => new Int32Array(count));
    const values = this.overlay.values ? new Float64Array(count) : null;
    for (const [name, entry] of this.overlay.tones?.get(hierarchy.graph.id) ?? []) {
      const node = hierarchy.nodeNamed(name);
      if (node !== undefined && counts[entry]) counts[entry]![hierarchy.itemShowing(node)]!++;
    }
    for (const [name, value] of this.overlay.values?.get(hierarchy.graph.id) ?? []) {
      const node = hierarchy.nodeNamed(name);
      if (node !== undefined && values) values[hierarchy.itemShowing(node)]! += value;
    }
    for (let item = count - 1; item > 0; item--) {
      const above = tree.parent[item]!;
      for (const column of counts) column[above]! += column[item]!;
      if (values) values[above]! += values[item]!;
    }
    return { counts, values };
  }
}
