/** Graphs for the tests, written as lines: `name = Op(input, input)`. */
import { Role, type GraphData } from "../src/api/types";

const ROLES: Record<string, Role> = { Const: Role.Constant, VarHandleOp: Role.Variable, Placeholder: Role.Input, _Arg: Role.Input, _Retval: Role.Output };

/** `a/b = MatMul(x, w)`; a call names its graphs after `->`. */
export function graphOf(text: string, id = "main"): GraphData {
  const graph: GraphData = {
    version: 1, id, name: id, kind: id === "main" ? "graph" : "function", names: [], ops: [], op: [], role: [],
    source: [], source_output: [], target: [], target_input: [], types: ["float32 [?, 4]", "resource []"], edge_type: [],
    control_source: [], control_target: [], calls: [],
  };
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  const parsed = lines.map((line) => /^(.*?) = (\S+?)\((.*?)\)(?: -> (.*))?$/.exec(line)!);
  parsed.forEach(([, name, op, , calls]) => addNode(graph, name!, op!, calls));
  parsed.forEach(([, , , inputs], node) => {
    inputs!.split(",").map((input) => input.trim()).filter(Boolean).forEach((input, place) => {
      graph.source.push(graph.names.indexOf(input));
      graph.source_output.push(0);
      graph.target.push(node);
      graph.target_input.push(place);
      graph.edge_type.push(0);
    });
  });
  graph.arguments = graph.op.flatMap((op, node) => (graph.ops[op] === "_Arg" ? [node] : []));
  graph.results = graph.op.flatMap((op, node) => (graph.ops[op] === "_Retval" ? [node] : []));
  return graph;
}

function addNode(graph: GraphData, name: string, op: string, calls?: string): void {
  const node = graph.names.push(name) - 1;
  if (!graph.ops.includes(op)) graph.ops.push(op);
  graph.op.push(graph.ops.indexOf(op));
  graph.role.push(calls ? Role.Call : ROLES[op] ?? Role.Op);
  const graphs = calls?.split(" ") ?? [];
  if (calls) graph.calls.push({ node, graphs, first_input: op === "If" ? 1 : 0, results: op === "While" ? graphs.slice(1) : graphs });
}

/** A reproducible random number generator. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A random graph with nested scopes: each node reads from some before it. */
export function randomGraph(nodes: number, seed: number, cyclic = false): GraphData {
  const next = random(seed);
  const scope = () => Array.from({ length: Math.floor(next() * 4) }, () => `s${Math.floor(next() * 3)}`).join("/");
  const names = Array.from({ length: nodes }, (_, k) => [scope(), `n${k}`].filter(Boolean).join("/"));
  const lines = names.map((name, k) => {
    const from = Array.from({ length: Math.floor(next() * 3) }, () => names[Math.floor(next() * (cyclic ? nodes : k))]);
    const kinds = from.length ? ["Add", "Mul", "Relu"] : ["Const", "Placeholder"];
    return `${name} = ${kinds[Math.floor(next() * kinds.length)]}(${from.filter(Boolean).join(", ")})`;
  });
  return graphOf(lines.join("\n"));
}
