/** Nodes of a main graph that no signature needs: what loads, what saves, and the rest. Each is one closed box. */
import type { GraphData, GraphPart } from "../../api/types";

const LABELS: Record<GraphPart["kind"], string> = { signature: "", loading: "loading", saving: "saving", rest: "not used by a signature" };

/** The kind of leftover that each node is, or -1, and what the kinds are called. */
export function findLeftovers(graph: GraphData): { of: Int32Array; labels: string[] } {
  const of = new Int32Array(graph.names.length).fill(-1);
  const parts = graph.parts ?? [];
  const others = parts.filter((part) => part.kind !== "signature" && part.nodes.length > 0);
  if (!parts.some((part) => part.kind === "signature" && part.nodes.length > 0)) return { of, labels: [] };
  others.forEach((part, k) => {
    for (const node of part.nodes) of[node] = k;
  });
  return { of, labels: others.map((part) => LABELS[part.kind]) };
}
