/** The rows of the op census. */

import type { Inspection } from "../../api/reports";

export const PHASES = ["total", "running", "loading", "saving", "rest"] as const;
export type Phase = (typeof PHASES)[number];

export interface OpRow {
  op: string;
  counts: Record<Phase, number>;
  /** The first and the last release that registers it; null for none, or until now. */
  since: string | null;
  until: string | null;
  /** Whether any recorded release registers it. */
  known: boolean;
  custom: boolean;
  /** Where it comes from, if that is not TensorFlow. */
  from: string;
}

export function censusOf(inspection: Inspection): OpRow[] {
  const { ops, lite } = inspection;
  const total = Object.keys(ops.total).length ? ops.total : liteCounts(lite);
  const running = (op: string) => Math.max(0, ...Object.values(ops.signatures).map((counts) => counts[op] ?? 0));
  return Object.entries(total).map(([op, nodes]) => {
    const releases = ops.releases?.[op];
    const custom = op in ops.custom || (lite?.operators.some((code) => code.custom === op) ?? false);
    const addon = addonOf(ops.addons, op);
    return {
      op,
      counts: {
        total: nodes,
        running: running(op),
        loading: ops.loading[op] ?? 0,
        saving: ops.saving[op] ?? 0,
        rest: ops.rest[op] ?? 0,
      },
      since: releases?.since ?? ops.newest[op] ?? null,
      until: releases?.until ?? ops.gone[op] ?? null,
      known: releases ? releases.since !== null : !custom,
      custom,
      from: custom ? "custom" : addon,
    };
  });
}

/** Add-ons are listed by op or by package. */
function addonOf(addons: Inspection["ops"]["addons"], op: string): string {
  const packages = addons[op];
  if (packages) return [packages].flat().join(", ");
  return Object.keys(addons).filter((name) => [addons[name]].flat().includes(op)).join(", ");
}

function liteCounts(lite: Inspection["lite"]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { op, custom, flex, count } of lite?.operators ?? []) {
    const name = custom ?? flex ?? op;
    counts[name] = (counts[name] ?? 0) + count;
  }
  return counts;
}
