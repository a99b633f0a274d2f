/** A few lines about what the pointer is at: what the box itself may have no room for. */
import { shortType } from "./paint/labels";
import type { Target } from "./paint/state";
import { drawable } from "./paint/text";
import { nodeOfBlock, type Block } from "./scene/block";
import { farEnds, type Stub } from "./scene/stubs";

const MOST_OUTPUTS = 4;
const MOST_ENDS = 6;

/** Where the edges of a stub lead, or where they come from. */
export function describeStub(stub: Stub, byKey: ReadonlyMap<string, Block>): string {
  const ends = farEnds(stub, byKey);
  const names = ends.slice(0, MOST_ENDS).map((block) => drawable(nameOf(block)));
  if (ends.length > MOST_ENDS) names.push(`and ${(ends.length - MOST_ENDS).toLocaleString("en")} more`);
  const [first] = names;
  if (ends.length === 1) return `${stub.way === "out" ? "to" : "from"} ${first}; click to go there`;
  return [stub.way === "out" ? "to" : "from", ...names, "click to select the box and see them all"].join("\n");
}

function nameOf(block: Block): string {
  const node = nodeOfBlock(block);
  return node < 0 ? block.title : block.instance.hierarchy.graph.names[node]!;
}

export function describe({ block, satellite }: Target): string {
  const { hierarchy } = block.instance;
  if (satellite === block.satellites.length) return `${block.moreSatellites} more constants and variables; select the node to see them`;
  const node = satellite >= 0 ? block.satellites[satellite]!.node : nodeOfBlock(block);
  if (node < 0) return drawable(`${block.title}: ${block.subtitle}`);
  const { graph } = hierarchy;
  const types = new Map<number, string>();
  for (const edge of hierarchy.outputsOf(node)) types.set(graph.source_output[edge]!, shortType(graph.types[graph.edge_type[edge]!] ?? ""));
  const outputs = [...types].sort(([a], [b]) => a - b).slice(0, MOST_OUTPUTS).map(([index, type]) => `output ${index}: ${type}`);
  return [drawable(graph.names[node]!), drawable(hierarchy.opOf(node)), ...outputs].join("\n");
}
