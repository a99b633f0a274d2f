/** A few lines about what the pointer is at: what the box itself may have no room for. */
import { shortType } from "./paint/labels";
import type { Target } from "./paint/state";
import { drawable } from "./paint/text";
import { nodeOfBlock } from "./scene/block";

const MOST_OUTPUTS = 4;

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
