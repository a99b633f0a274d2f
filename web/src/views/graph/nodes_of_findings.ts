/** The nodes of each code of a check, for the search of the graph. */

import type { CheckReport } from "../../api/reports";
import type { Findings } from "../../graph/search";

export function nodesOfFindings(report: CheckReport | null): Findings | undefined {
  if (!report) return undefined;
  const codes = new Map<string, Map<string, Set<string>>>();
  for (const { code, all_nodes: nodes = [] } of report.results.flatMap(({ findings }) => findings)) {
    const graphs = codes.get(code) ?? new Map<string, Set<string>>();
    for (const { graph, node } of nodes) graphs.set(graph, (graphs.get(graph) ?? new Set()).add(node));
    codes.set(code, graphs);
  }
  return codes;
}
