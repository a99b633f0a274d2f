/** A graph as a tree of scopes, with the edges between the children of each scope. */
import type { GraphData } from "../../api/types";
import { findGroups } from "./groups";
import { edgesBy, findSatellites, type Satellite, type Satellites } from "./satellites";
import { scopeTree, type ScopeTree } from "./scope_tree";

/** The edge ids of a scope: `edges[start[scope] … start[scope + 1] - 1]`, with the children at both ends. */
interface LiftedEdges {
  start: Int32Array;
  edge: Int32Array;
  from: Int32Array;
  to: Int32Array;
}

/** An edge between two children of a scope. */
export interface LiftedEdge {
  edge: number;
  from: number;
  to: number;
}

export class Hierarchy {
  readonly tree: ScopeTree;
  readonly graphs: Map<number, string[]>;
  /** The number of nodes below an item, those drawn beside others included. */
  readonly size: Int32Array;
  private readonly satellites: Satellites;
  private readonly lifted: LiftedEdges;
  private readonly out: { start: Int32Array; edges: Int32Array };
  private readonly into: { start: Int32Array; edges: Int32Array };
  private indexOf: Map<string, number> | null = null;

  constructor(readonly graph: GraphData) {
    this.satellites = findSatellites(graph);
    const beside = this.satellites.hosts;
    const leaveOut = (node: number) => beside.has(node);
    this.tree = scopeTree(graph.names, leaveOut, findGroups(graph, leaveOut));
    this.graphs = new Map(graph.calls.map((call) => [call.node, call.graphs]));
    this.out = edgesBy(graph.source, graph.names.length);
    this.into = edgesBy(graph.target, graph.names.length);
    this.lifted = this.lift();
    this.size = this.countNodes();
  }

  get count(): number {
    return this.tree.label.length;
  }

  label(item: number): string {
    return this.tree.label[item]!;
  }

  /** The node of an item, or -1 for a scope. */
  nodeOf(item: number): number {
    return this.tree.node[item]!;
  }

  isScope(item: number): boolean {
    return this.tree.node[item] === -1;
  }

  /** Whether an item is a group of nodes that are alike. */
  isGroup(item: number): boolean {
    return this.tree.group[item] === 1;
  }

  nodeNamed(name: string): number | undefined {
    this.indexOf ??= new Map(this.graph.names.map((text, node) => [text, node]));
    return this.indexOf.get(name);
  }

  opOf(node: number): string {
    return this.graph.ops[this.graph.op[node]!]!;
  }

  /** The graphs that a node calls. */
  callsOf(node: number): string[] {
    return this.graphs.get(node) ?? [];
  }

  children(item: number): number[] {
    const children: number[] = [];
    for (let at = item + 1; at < this.tree.end[item]!; at = this.tree.end[at]!) children.push(at);
    return children;
  }

  /** The constants and variables that are drawn beside a node. */
  /** The shape of the first output of a node, as `3×3×64`; empty for a scalar, a handle, or if not known. */
  shapeOf(node: number): string {
    if (node < 0 || this.out.start[node] === this.out.start[node + 1]) return "";
    const type = this.graph.types[this.graph.edge_type[this.out.edges[this.out.start[node]!]!]!] ?? "";
    const dims = type.startsWith("resource") ? null : /^\S+ \[(.+)\]$/.exec(type);
    return dims ? dims[1]!.split(/,\s*/).join("×") : "";
  }

  satellitesOf(node: number): readonly Satellite[] {
    return this.satellites.beside.get(node) ?? [];
  }

  /** The item that shows a node: its own, or that of the first node that it is drawn beside. */
  itemShowing(node: number, depth = 0): number {
    const own = this.tree.item[node]!;
    if (own >= 0) return own;
    const hosts = this.satellites.hosts.get(node) ?? [];
    const drawn = hosts.find((host) => this.tree.item[host]! >= 0);
    if (drawn !== undefined) return this.tree.item[drawn]!;
    return hosts.length && depth < 3 ? this.itemShowing(hosts[0]!, depth + 1) : 0;
  }

  isSatellite(node: number): boolean {
    return this.satellites.hosts.has(node);
  }

  contains(item: number, other: number): boolean {
    return item <= other && other < this.tree.end[item]!;
  }

  /** The nodes below an item, in order, without those drawn beside others. */
  *nodesBelow(item: number): Generator<number> {
    for (let at = item; at < this.tree.end[item]!; at++) if (this.tree.node[at]! >= 0) yield this.tree.node[at]!;
  }

  /** The edges between children of a scope. */
  edgesWithin(scope: number): LiftedEdge[] {
    const { start, edge, from, to } = this.lifted;
    const edges: LiftedEdge[] = [];
    for (let k = start[scope]!; k < start[scope + 1]!; k++) edges.push({ edge: edge[k]!, from: from[k]!, to: to[k]! });
    return edges;
  }

  outputsOf(node: number): Int32Array {
    return this.out.edges.subarray(this.out.start[node]!, this.out.start[node + 1]!);
  }

  inputsOf(node: number): Int32Array {
    return this.into.edges.subarray(this.into.start[node]!, this.into.start[node + 1]!);
  }

  /** The ids of the edges that enter or leave an item, without those of its satellites. */
  edgesAround(item: number): { into: number[]; out: number[] } {
    const into: number[] = [];
    const out: number[] = [];
    for (const node of this.nodesBelow(item)) {
      for (const edge of this.inputsOf(node)) if (this.isOutside(item, this.graph.source[edge]!)) into.push(edge);
      for (const edge of this.outputsOf(node)) if (this.isOutside(item, this.graph.target[edge]!)) out.push(edge);
    }
    return { into, out };
  }

  /** The child of a scope that has an item below it, or is it. */
  childTowards(scope: number, item: number): number {
    let at = item;
    while (this.tree.parent[at] !== scope) at = this.tree.parent[at]!;
    return at;
  }

  private isOutside(item: number, node: number): boolean {
    const other = this.tree.item[node]!;
    return other >= 0 && !this.contains(item, other);
  }

  private countNodes(): Int32Array {
    const size = new Int32Array(this.count);
    for (let item = this.count - 1; item >= 0; item--) {
      const node = this.tree.node[item]!;
      if (node >= 0) size[item] = 1 + this.satellitesOf(node).reduce((sum, s) => sum + 1 + s.via.length, 0);
      if (item > 0) size[this.tree.parent[item]!]! += size[item]!;
    }
    return size;
  }

  /** Each edge belongs to the innermost scope that has both ends. */
  private lift(): LiftedEdges {
    const { parent, depth, item } = this.tree;
    const { source, target } = this.graph;
    const scopeOf = new Int32Array(source.length).fill(-1);
    const from = new Int32Array(source.length);
    const to = new Int32Array(source.length);
    const start = new Int32Array(this.count + 1);
    for (let edge = 0; edge < source.length; edge++) {
      let a = item[source[edge]!]!;
      let b = item[target[edge]!]!;
      if (a < 0 || b < 0 || a === b) continue;
      while (parent[a] !== parent[b]) {
        if (depth[a]! >= depth[b]!) a = parent[a]!;
        else b = parent[b]!;
      }
      scopeOf[edge] = parent[a]!;
      from[edge] = a;
      to[edge] = b;
      start[parent[a]! + 1]!++;
    }
    for (let i = 0; i < this.count; i++) start[i + 1]! += start[i]!;
    const next = start.slice();
    const total = start[this.count]!;
    const lifted = { start, edge: new Int32Array(total), from: new Int32Array(total), to: new Int32Array(total) };
    for (let edge = 0; edge < source.length; edge++) {
      if (scopeOf[edge]! < 0) continue;
      const place = next[scopeOf[edge]!]!++;
      lifted.edge[place] = edge;
      lifted.from[place] = from[edge]!;
      lifted.to[place] = to[edge]!;
    }
    return lifted;
  }
}
