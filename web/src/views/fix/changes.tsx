/** Which nodes a rewrite changed, by which rules, into what. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { FixResult } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { Filter, passes } from "../../components/filter";
import { count } from "../../components/format";
import { Name } from "../../components/text";
import type { Overlay } from "../../graph/overlay";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";

type Change = FixResult["changes"][number];

interface ChangesProps {
  changes: Change[];
  session: ModelSession;
}

export function Changes({ changes, session }: ChangesProps): JSX.Element {
  const [filter, setFilter] = useState("");
  const shown = useMemo(() => changes.filter((change) => passes(`${change.node} ${change.op} ${change.rules.join(" ")}`, filter)), [changes, filter]);
  const hasGraph = source.tabs().includes("graph");
  const show = (change?: Change) => {
    session.overlay.value = overlayOfChanges(changes);
    go(modelAddress(session.id, "graph", change ? { graph: change.graph, node: change.node } : {}));
  };
  return (
    <section class="card stack bounded" aria-labelledby="changes">
      <div class="flow spread">
        <h2 id="changes">{count(changes.length, "changed node")}</h2>
        <div class="flow">
          {hasGraph && (
            <button type="button" onClick={() => show()}>
              Show them in the graph
            </button>
          )}
          <Filter label="Filter nodes" value={filter} onChange={setFilter} />
        </div>
      </div>
      <DataTable label="Changed nodes" columns={columnsOf(hasGraph ? show : null)} rows={shown} keyOf={(change) => `${change.graph} ${change.node}`} />
    </section>
  );
}

function columnsOf(show: ((change: Change) => void) | null): Column<Change>[] {
  return [
    {
      title: "node",
      by: (change) => change.node,
      cell: (change) =>
        show ? (
          <button type="button" class="link mono" onClick={() => show(change)}>
            <Name text={change.node} />
          </button>
        ) : (
          <code>
            <Name text={change.node} />
          </code>
        ),
      wide: true,
    },
    { title: "op", by: (change) => change.op, cell: (change) => <code>{change.op}</code> },
    { title: "rules", by: (change) => change.rules.join(), cell: (change) => change.rules.join(", ") },
    { title: "became", cell: (change) => <code class="wrap">{becameText(change)}</code> },
  ];
}

function becameText({ after }: Change): string {
  if (after === null) return "another structure";
  const ops = Object.values(after).map(String);
  const counts = new Map<string, number>();
  for (const op of ops) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].map(([op, times]) => (times > 1 ? `${times} ${op}` : op)).join(", ") || "nothing";
}

/** Changed nodes as colors of the graph, a color for each rule. */
export function overlayOfChanges(changes: readonly Change[]): Overlay {
  const rules = [...new Set(changes.map((change) => change.rules[0] ?? "changed"))];
  const tones = new Map<string, Map<string, number>>();
  for (const { graph, node, rules: applied } of changes) {
    const nodes = tones.get(graph) ?? new Map<string, number>();
    nodes.set(node, Math.min(rules.indexOf(applied[0] ?? "changed"), 7));
    tones.set(graph, nodes);
  }
  return { title: "Changed by rules", legend: rules.slice(0, 8).map((label) => ({ label, tone: "changed" })), tones };
}
