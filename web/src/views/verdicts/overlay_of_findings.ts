/** Findings as colors of the graph. */

import type { Finding } from "../../api/reports";
import type { LegendEntry, Overlay } from "../../graph/overlay";

const MOST_ENTRIES = 8;
const TONES = { error: "bad", warning: "warn", note: "note" } as const;

/** Color the nodes of findings; of a node with several, the first finding counts. */
export function overlayOf(findings: readonly Finding[], title: string): Overlay {
  const legend: LegendEntry[] = [];
  const tones = new Map<string, Map<string, number>>();
  for (const finding of findings) {
    const label = labelOf(finding);
    const known = legend.findIndex((other) => other.label === label); // the same finding of another loader
    const entry = known >= 0 ? known : Math.min(legend.length, MOST_ENTRIES - 1);
    if (known < 0 && legend.length < MOST_ENTRIES) legend.push({ label, tone: TONES[finding.severity] ?? "bad" });
    for (const { graph, node } of finding.all_nodes ?? []) {
      const nodes = tones.get(graph) ?? new Map<string, number>();
      if (!nodes.has(node)) nodes.set(node, entry);
      tones.set(graph, nodes);
    }
  }
  return { title, legend, tones };
}

/** What identifies a finding in an address. */
export function findingKey({ code, op, attr }: Pick<Finding, "code" | "op" | "attr">): string {
  return [code, op, attr].filter(Boolean).join(" ");
}

function labelOf({ code, op, attr }: Finding): string {
  return [code, [op, attr].filter(Boolean).join(".")].filter(Boolean).join(" ");
}
