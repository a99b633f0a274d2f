/** A profile summed by op, and as a heat map of the graph. */

import type { OpTime, Profile } from "../../api/reports";
import type { Overlay } from "../../graph/overlay";

/** The time of each op: of its nodes where they have times, of the host's steps otherwise. */
export function opTimes(profile: Profile): OpTime[] {
  const times = new Map<string, OpTime>();
  const rows = profile.nodes.some(({ ms }) => ms > 0) ? profile.nodes : profile.host;
  for (const { op, calls, ms } of rows) {
    const time = times.get(op) ?? { op, calls: 0, ms: 0 };
    times.set(op, { op, calls: time.calls + calls, ms: time.ms + ms });
  }
  return [...times.values()];
}

/** Times as a heat scale. */
export function overlayOfProfile(profile: Profile): Overlay {
  const values = new Map<string, Map<string, number>>();
  for (const { graph, node, ms } of profile.nodes) {
    const nodes = values.get(graph) ?? new Map<string, number>();
    nodes.set(node, (nodes.get(node) ?? 0) + ms);
    values.set(graph, nodes);
  }
  return { title: "Time per node", legend: [], values, unit: "ms" };
}
