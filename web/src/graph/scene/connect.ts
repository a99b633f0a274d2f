/** The edges that a scope's layout has: between its children, and to ports on its rim for what goes through it. */
import type { GraphData } from "../../api/types";
import { Rim } from "../layout/problem";
import type { Block, Instance } from "./block";
import { crossingsOf } from "./crossings";

/** Ports on one rim before they are joined into one. */
const MOST_PORTS = 10;

type Way = "into" | "out";

/** The ports of a scope: one for each node that it reads from outside, and for each of its nodes that is read. */
export interface Ports {
  /** The place among all ports, by `portKey`. */
  into: Map<string, number>;
  out: Map<string, number>;
  rims: Rim[];
}

/** A drawn edge between two items (children first, then ports), standing for edges of a graph. */
export interface Connection {
  from: number;
  to: number;
  fromPort: number;
  toPort: number;
  edges: number[];
  /** The graph that the edges are from: that of the children, or that of the node that calls it. */
  instance: Instance;
}

export interface Connections {
  ports: Ports;
  list: Connection[];
}

/** An edge that goes through the rim, and the child at its other end. */
interface Through {
  edge: number;
  instance: Instance;
  child: number;
  port: string;
}

/** What names the port of an edge: of a scope, the node that it starts at; of a call, the source or the output. */
function portKey({ source, source_output }: GraphData, edge: number, way: Way, isCall: boolean): string {
  return isCall ? `call ${way === "into" ? source[edge] : source_output[edge]}` : String(source[edge]);
}

/** The connections of an expanded block, given those of its expanded children. */
export function connect(block: Block, known: ReadonlyMap<Block, Connections>): Connections {
  const through = { into: throughRim(block, "into"), out: throughRim(block, "out") };
  const ports = portsOf(through.into, through.out);
  const list = new Map<string, Connection>();
  const add = (edge: number, instance: Instance, from: number, to: number, fromPort: number, toPort: number) => {
    const key = `${instance.key} ${from} ${fromPort} ${to} ${toPort}`;
    const same = list.get(key);
    if (same) same.edges.push(edge);
    else list.set(key, { from, to, fromPort, toPort, edges: [edge], instance });
  };
  const portOf = (index: number, edge: number, instance: Instance, way: Way) => {
    const inner = block.children[index]!;
    const isCall = inner.kind !== "scope" || instance !== inner.instance;
    const own = known.get(inner)?.ports[way].get(portKey(instance.hierarchy.graph, edge, way, isCall));
    return own === undefined ? -1 : inner.children.length + own;
  };
  if (block.inner) {
    const { instance, scope } = block.inner;
    const place = new Map(block.children.map((child, k) => [child.item, k]));
    for (const { edge, from, to } of instance.hierarchy.edgesWithin(scope)) {
      const [a, b] = [place.get(from)!, place.get(to)!];
      add(edge, instance, a, b, portOf(a, edge, instance, "out"), portOf(b, edge, instance, "into"));
    }
  }
  const first = block.children.length;
  for (const { edge, instance, child, port } of through.into) {
    add(edge, instance, first + ports.into.get(port)!, child, -1, portOf(child, edge, instance, "into"));
  }
  for (const { edge, instance, child, port } of through.out) {
    add(edge, instance, child, first + ports.out.get(port)!, portOf(child, edge, instance, "out"), -1);
  }
  return { ports, list: [...list.values()] };
}

/** The edges that enter or leave a block, at the children that they lead to or start from. */
function throughRim(block: Block, way: Way): Through[] {
  if (!block.inner) return throughBranches(block, way);
  const { instance, scope } = block.inner;
  const { hierarchy } = instance;
  if (hierarchy.isGroup(scope)) return [];
  const place = new Map(block.children.map((child, k) => [child.item, k]));
  const child = (node: number) => place.get(hierarchy.childTowards(scope, hierarchy.tree.item[node]!))!;
  const { graph } = hierarchy;
  const ends = way === "into" ? graph.target : graph.source;
  const around = scope === 0 ? [] : hierarchy.edgesAround(scope)[way];
  const own = around.map((edge) => ({ edge, instance, child: child(ends[edge]!), port: portKey(graph, edge, way, false) }));
  const { boundary } = instance;
  if (!boundary) return own;
  const inside = boundary[way].filter(({ node }) => hierarchy.contains(scope, hierarchy.tree.item[node]!));
  const { outer } = boundary;
  return own.concat(inside.map(({ edge, node }) => ({ edge, instance: outer, child: child(node), port: portKey(outer.hierarchy.graph, edge, way, true) })));
}

/** Of a node that calls several graphs, each of which is a child. */
function throughBranches({ instance, item, children }: Block, way: Way): Through[] {
  const { graph } = instance.hierarchy;
  return children.flatMap((branch, child) =>
    crossingsOf(instance, item, branch.calls[0]!)[way].map(({ edge }) => ({ edge, instance, child, port: portKey(graph, edge, way, true) })),
  );
}

function portsOf(into: readonly Through[], out: readonly Through[]): Ports {
  const ports: Ports = { into: new Map(), out: new Map(), rims: [] };
  const add = (map: Map<string, number>, through: readonly Through[], rim: Rim) => {
    const keys = [...new Set(through.map(({ port }) => port))];
    const first = ports.rims.length;
    keys.forEach((key, k) => map.set(key, first + (keys.length > MOST_PORTS ? 0 : k)));
    const count = keys.length > MOST_PORTS ? 1 : keys.length;
    for (let k = 0; k < count; k++) ports.rims.push(rim);
  };
  add(ports.into, into, Rim.Top);
  add(ports.out, out, Rim.Bottom);
  return ports;
}
