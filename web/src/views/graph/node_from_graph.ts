/** What the graph alone tells about a node, for pages without a server. */

import { Role, type GraphData, type NodeDetails } from "../../api/types";

export function detailsFromGraph(graph: GraphData, node: string): NodeDetails {
  const index = graph.names.indexOf(node);
  if (index < 0) throw new Error(`The graph has no node ${node}.`);
  const nameOf = (i: number | undefined) => graph.names[i ?? -1] ?? "";
  const typeOf = (edge: number) => graph.types[graph.edge_type[edge] ?? -1] ?? "";
  const edges = graph.source.map((_, edge) => edge);
  const inputs = edges.filter((edge) => graph.target[edge] === index);
  const outputs = edges.filter((edge) => graph.source[edge] === index);
  const indices = [...new Set(outputs.map((edge) => graph.source_output[edge] ?? 0))].sort((a, b) => a - b);
  return {
    version: 1,
    graph: graph.id,
    node,
    op: graph.ops[graph.op[index] ?? -1] ?? "",
    device: "",
    role: graph.role[index] ?? Role.Op,
    attributes: (graph.attributes?.nodes[index] ?? []).map((number) => attributeOf(graph.attributes?.texts[number] ?? "")),
    inputs: inputs.map((edge) => ({ argument: "", node: nameOf(graph.source[edge]), index: graph.source_output[edge] ?? 0, type: typeOf(edge) })),
    controls: graph.control_source.filter((_, edge) => graph.control_target[edge] === index).map(nameOf),
    outputs: indices.map((output) => {
      const readers = outputs.filter((edge) => graph.source_output[edge] === output);
      return { argument: "", index: output, type: typeOf(readers[0] ?? -1), readers: readers.map((edge) => nameOf(graph.target[edge])), more: 0 };
    }),
    control_readers: graph.control_target.filter((_, edge) => graph.control_source[edge] === index).map(nameOf),
    calls: (graph.calls.find((call) => call.node === index)?.graphs ?? []).map((id) => ({ attribute: "", graph: id, name: id })),
    value: null,
    tensor: null,
    since: null,
    until: null,
    text: "",
  };
}

function attributeOf(text: string): NodeDetails["attributes"][number] {
  const equals = text.indexOf("=");
  return { name: text.slice(0, equals), value: text.slice(equals + 1), default: false };
}
