/**
 * Which nodes are drawn small beside the node that they feed, not as boxes of their own.
 *
 * Constants and variables with few users, and the nodes that only pass their value on
 * (`Identity`, `ReadVariableOp`, …). One that feeds several nodes is drawn beside each. Control outputs of
 * functions are not drawn at all.
 */
import { Role, type GraphData } from "../../api/types";

const MOST_USERS = 200;
const NONE: number[] = [];
const CONTROL_RETURN = "_ControlReturn";
/** Ops that pass a value on as it is. */
export const PASSING = new Set(["Identity", "ReadVariableOp", "Enter", "RefEnter", "DEQUANTIZE", "Dequantize"]);

/** A constant or variable beside a node, with the nodes between both. */
export interface Satellite {
  node: number;
  via: number[];
}

/** The satellites by the node that they are beside, and for each satellite the nodes that it is beside. */
export interface Satellites {
  beside: Map<number, Satellite[]>;
  hosts: Map<number, number[]>;
}

/** Data edges by their source node: those of node `i` are `edges[start[i] … start[i + 1] - 1]`. */
export function edgesBy(ends: number[], nodes: number): { start: Int32Array; edges: Int32Array } {
  const start = new Int32Array(nodes + 1);
  for (let edge = 0; edge < ends.length; edge++) start[ends[edge]! + 1]!++;
  for (let i = 0; i < nodes; i++) start[i + 1]! += start[i]!;
  const next = start.slice();
  const edges = new Int32Array(ends.length);
  for (let edge = 0; edge < ends.length; edge++) edges[next[ends[edge]!]!++] = edge;
  return { start, edges };
}

export function findSatellites(graph: GraphData): Satellites {
  const count = graph.names.length;
  const out = edgesBy(graph.source, count);
  const inputs = new Int32Array(count);
  for (const target of graph.target) inputs[target]!++;
  const users = (node: number) => out.start[node + 1]! - out.start[node]!;
  const target = (node: number, k: number) => graph.target[out.edges[out.start[node]! + k]!]!;

  const state = isState(graph, out);
  const passing = graph.ops.map((op) => PASSING.has(op));
  const passes = (node: number) =>
    graph.role[node] === Role.Op && inputs[node] === 1 && users(node) > 0 && users(node) <= MOST_USERS &&
    passing[graph.op[node]!] === true;
  const beside = new Map<number, Satellite[]>();
  const hosts = new Map<number, number[]>();
  const hostsOf = (node: number) => hosts.get(node) ?? hosts.set(node, []).get(node)!;

  for (let node = 0; node < count; node++) {
    if (!state(node) || inputs[node]! > 0 || users(node) === 0 || users(node) > MOST_USERS) continue;
    const only = target(node, 0);
    const placed: { host: number; via: number[] }[] = users(node) === 1 && !passes(only) ? [{ host: only, via: NONE }] : [];
    for (let k = 0; k < users(node) && placed[0]?.via !== NONE; k++) {
      const user = target(node, k);
      if (!passes(user)) placed.push({ host: user, via: [] });
      else for (let j = 0; j < users(user); j++) placed.push({ host: target(user, j), via: [user] });
    }
    if (placed.length > MOST_USERS || placed.some(({ host }) => state(host) && inputs[host] === 0)) continue;
    for (const { host, via } of placed) {
      const list = beside.get(host) ?? beside.set(host, []).get(host)!;
      if (list.some((s) => s.node === node && s.via[0] === via[0])) continue;
      list.push({ node, via });
      for (const part of [node, ...via]) if (!hostsOf(part).includes(host)) hostsOf(part).push(host);
    }
  }
  hideControlReturns(graph, hosts, (node) => inputs[node]! === 0 && users(node) === 0);
  return { beside, hosts };
}

/** The control outputs of a function say that a node runs; they are not drawn, the node stands for them. */
function hideControlReturns(graph: GraphData, hosts: Map<number, number[]>, isAlone: (node: number) => boolean): void {
  const op = graph.ops.indexOf(CONTROL_RETURN);
  if (op < 0) return;
  graph.control_target.forEach((node, edge) => {
    if (graph.op[node] === op && isAlone(node)) hosts.set(node, [graph.control_source[edge]!]);
  });
}

/** Constants, variables, and arguments that are handles of variables. */
function isState(graph: GraphData, out: { start: Int32Array; edges: Int32Array }): (node: number) => boolean {
  const handle = graph.types.map((type) => type.startsWith("resource"));
  return (node) => {
    const role = graph.role[node];
    if (role === Role.Constant || role === Role.Variable) return true;
    const edge = out.edges[out.start[node]!];
    return role === Role.Input && out.start[node + 1]! > out.start[node]! && handle[graph.edge_type[edge!]!] === true;
  };
}
