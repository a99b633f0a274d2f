/** The edges that a scope's layout has: between its children, and to ports on its rim for what goes through it. */
import type { Hierarchy } from "../hierarchy/hierarchy";
import { Rim } from "../layout/problem";
import type { Block } from "./block";

/** Ports on one rim before they are joined into one. */
const MOST_PORTS = 10;

/** The ports of a scope: one for each node that it reads from outside, and for each of its nodes that is read. */
export interface Ports {
  /** The port of the node that an edge starts at, among all ports. */
  into: Map<number, number>;
  out: Map<number, number>;
  rims: Rim[];
}

/** A drawn edge between two items (children first, then ports), standing for edges of the graph. */
export interface Connection {
  from: number;
  to: number;
  fromPort: number;
  toPort: number;
  edges: number[];
}

export interface Connections {
  ports: Ports;
  list: Connection[];
}

const NO_PORTS: Ports = { into: new Map(), out: new Map(), rims: [] };

function portsOf(hierarchy: Hierarchy, around: { into: number[]; out: number[] }): Ports {
  const ports: Ports = { into: new Map(), out: new Map(), rims: [] };
  const add = (map: Map<number, number>, edges: number[], rim: Rim) => {
    const nodes = [...new Set(edges.map((edge) => hierarchy.graph.source[edge]!))];
    const first = ports.rims.length;
    nodes.forEach((node, k) => map.set(node, first + (nodes.length > MOST_PORTS ? 0 : k)));
    const count = nodes.length > MOST_PORTS ? 1 : nodes.length;
    for (let k = 0; k < count; k++) ports.rims.push(rim);
  };
  add(ports.into, around.into, Rim.Top);
  add(ports.out, around.out, Rim.Bottom);
  return ports;
}

/** The connections of an expanded block, given those of its expanded children. */
export function connect(block: Block, known: ReadonlyMap<Block, Connections>): Connections {
  if (!block.inner) return { ports: NO_PORTS, list: [] };
  const { instance: { hierarchy }, scope } = block.inner;
  const { source, target } = hierarchy.graph;
  const around = scope === 0 || hierarchy.isGroup(scope) ? { into: [], out: [] } : hierarchy.edgesAround(scope);
  const ports = portsOf(hierarchy, around);
  const place = new Map(block.children.map((child, k) => [child.item, k]));
  const child = (node: number) => place.get(hierarchy.childTowards(scope, hierarchy.tree.item[node]!))!;
  const portOf = (index: number, node: number, side: "into" | "out") => {
    const inner = block.children[index]!;
    const own = inner.kind === "scope" ? known.get(inner)?.ports[side].get(node) : undefined;
    return own === undefined ? -1 : inner.children.length + own;
  };
  const list = new Map<string, Connection>();
  const add = (edge: number, from: number, to: number, fromPort: number, toPort: number) => {
    const key = `${from} ${fromPort} ${to} ${toPort}`;
    const same = list.get(key);
    if (same) same.edges.push(edge);
    else list.set(key, { from, to, fromPort, toPort, edges: [edge] });
  };
  for (const { edge, from, to } of hierarchy.edgesWithin(scope)) {
    const [a, b, node] = [place.get(from)!, place.get(to)!, source[edge]!];
    add(edge, a, b, portOf(a, node, "out"), portOf(b, node, "into"));
  }
  const first = block.children.length;
  for (const edge of around.into) {
    const [b, node] = [child(target[edge]!), source[edge]!];
    add(edge, first + ports.into.get(node)!, b, -1, portOf(b, node, "into"));
  }
  for (const edge of around.out) {
    const [a, node] = [child(source[edge]!), source[edge]!];
    add(edge, a, first + ports.out.get(node)!, portOf(a, node, "out"), -1);
  }
  return { ports, list: [...list.values()] };
}
