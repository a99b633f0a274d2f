/** A part of a main graph on its own: what one signature computes. */
import type { GraphData, GraphPart } from "../api/types";

/** The parts that can be shown on their own: signatures, those of most interest first. */
export function signatureParts(graph: GraphData): GraphPart[] {
  const parts = (graph.parts ?? []).filter((part) => part.kind === "signature" && part.nodes.length > 0);
  return parts.sort((a, b) => Number(b.name === "serving_default") - Number(a.name === "serving_default"));
}

/** The graph with these nodes only; their order stays. */
export function restrictGraph(graph: GraphData, nodes: readonly number[]): GraphData {
  if (nodes.length === graph.names.length) return graph;
  const place = new Int32Array(graph.names.length).fill(-1);
  nodes.forEach((node, k) => (place[node] = k));
  const pick = <T>(column: readonly T[]) => nodes.map((node) => column[node]!);
  const data = edgesInside(place, graph.source, graph.target);
  const controls = edgesInside(place, graph.control_source, graph.control_target);
  const ofEdge = <T>(column: readonly T[]) => data.map((edge) => column[edge]!);
  return {
    ...graph, parts: [], names: pick(graph.names), op: pick(graph.op), role: pick(graph.role),
    source: data.map((edge) => place[graph.source[edge]!]!), source_output: ofEdge(graph.source_output),
    target: data.map((edge) => place[graph.target[edge]!]!), target_input: ofEdge(graph.target_input),
    edge_type: ofEdge(graph.edge_type),
    control_source: controls.map((edge) => place[graph.control_source[edge]!]!),
    control_target: controls.map((edge) => place[graph.control_target[edge]!]!),
    ...(graph.attributes ? { attributes: { texts: graph.attributes.texts, nodes: pick(graph.attributes.nodes) } } : {}),
    calls: graph.calls.filter(({ node }) => place[node]! >= 0).map((call) => ({ ...call, node: place[call.node]! })),
  };
}

function edgesInside(place: Int32Array, source: readonly number[], target: readonly number[]): number[] {
  const inside: number[] = [];
  source.forEach((from, edge) => {
    if (place[from]! >= 0 && place[target[edge]!]! >= 0) inside.push(edge);
  });
  return inside;
}
