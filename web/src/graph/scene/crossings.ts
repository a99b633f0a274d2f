/** Where the edges of a node that calls a graph go on inside of that graph: at its arguments and results. */
import type { Instance } from "./block";

/** An edge of the caller's graph, and the place among the arguments or results of the called graph. */
export interface Crossing {
  edge: number;
  place: number;
}

export interface Crossings {
  into: Crossing[];
  out: Crossing[];
}

/** What is outside of a called graph, with the edges that go on at its nodes. */
export interface Boundary {
  outer: Instance;
  into: { edge: number; node: number }[];
  out: { edge: number; node: number }[];
}

/** The edges of a calling node that are joined with a graph that it calls; none if nobody knows how. */
export function crossingsOf({ hierarchy }: Instance, item: number, graph: string): Crossings {
  const { target_input: input, source_output: output, calls } = hierarchy.graph;
  const node = hierarchy.nodeOf(item);
  const call = calls.find((each) => each.node === node);
  const first = call?.first_input ?? null;
  if (!call || first === null) return { into: [], out: [] };
  const around = hierarchy.edgesAround(item);
  const into = around.into.map((edge) => ({ edge, place: input[edge]! - first })).filter(({ place }) => place >= 0);
  const out = call.results?.includes(graph) ? around.out.map((edge) => ({ edge, place: output[edge]! })) : [];
  return { into, out: out.filter(({ place }) => place >= 0) };
}

/** The same by the nodes of the called graph; a layer that is called several times has its arguments as often. */
export function boundaryOf(outer: Instance, item: number, called: Instance["hierarchy"]): Boundary {
  const { id, arguments: passed = [], results = [] } = called.graph;
  const at = (nodes: readonly number[], crossings: Crossing[]) =>
    crossings.flatMap(({ edge, place }) => {
      const node = nodes[place % nodes.length];
      return node === undefined || called.tree.item[node]! < 0 ? [] : [{ edge, node }];
    });
  const { into, out } = crossingsOf(outer, item, id);
  return { outer, into: at(passed, into), out: at(results, out) };
}
