/** The ops of the model: how many nodes, since which release, who provides them. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { DataTable, type Column } from "../../components/data_table";
import { Filter, passes } from "../../components/filter";
import { count, whole } from "../../components/format";
import { Empty, Request } from "../../components/states";
import { Name } from "../../components/text";
import type { ViewProps } from "../../shell/model_page";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { censusOf, PHASES, type OpRow, type Phase } from "./census";
import { OpPanel } from "./op_panel";
import { Releases } from "./releases";

export function Ops({ session, query }: ViewProps): JSX.Element {
  return (
    <Request ask={session.inspection} keys={[session]} what="Counting the ops">
      {(inspection) => <Census session={session} rows={censusOf(inspection)} selected={query.get("op")} />}
    </Request>
  );
}

interface CensusProps {
  session: ModelSession;
  rows: OpRow[];
  selected: string | null;
}

function Census({ session, rows, selected }: CensusProps): JSX.Element {
  const [filter, setFilter] = useState("");
  const [phase, setPhase] = useState<Phase>("total");
  const shown = useMemo(
    () => rows.filter((row) => row.counts[phase] > 0 && passes(`${row.op} ${row.from}`, filter)),
    [rows, filter, phase],
  );
  const choose = (op: string | null) => go(modelAddress(session.id, "ops", op ? { op } : {}), true);
  if (rows.length === 0) return <Empty>The model has no ops.</Empty>;
  return (
    <div class={selected && !source.isStatic ? "with-panel" : ""}>
      <section class="card stack" aria-label="Ops">
        <div class="flow spread">
          <h2>
            {count(rows.length, "op")}, {count(sum(rows, phase), "node")}
          </h2>
          <div class="flow">
            <label class="flow">
              <span class="soft">used for</span>
              <select value={phase} onChange={(event) => setPhase(event.currentTarget.value as Phase)}>
                {PHASES.map((name) => (
                  <option key={name} value={name}>
                    {name === "total" ? "everything" : name}
                  </option>
                ))}
              </select>
            </label>
            <Filter label="Filter ops" value={filter} onChange={setFilter} />
          </div>
        </div>
        <DataTable
          label="Ops of the model"
          columns={columnsOf(phase, choose)}
          rows={shown}
          sorted="nodes"
          keyOf={(row) => row.op}
          isCurrent={(row) => row.op === selected}
        />
        {shown.length === 0 && <Empty>No ops match the filter.</Empty>}
      </section>
      {selected && !source.isStatic && <OpPanel key={selected} op={selected} session={session} onClose={() => choose(null)} />}
    </div>
  );
}

function sum(rows: OpRow[], phase: Phase): number {
  return rows.reduce((total, row) => total + row.counts[phase], 0);
}

function columnsOf(phase: Phase, choose: (op: string) => void): Column<OpRow>[] {
  return [
    {
      title: "op",
      by: (row) => row.op,
      cell: (row) => (
        <>
          {source.isStatic ? (
            <code>
              <Name text={row.op} longest={120} />
            </code>
          ) : (
            <button type="button" class="link mono" onClick={() => choose(row.op)}>
              <Name text={row.op} longest={120} />
            </button>
          )}{" "}
          {row.from && <span class={`tag ${row.custom ? "warn" : ""}`}>{row.from}</span>}
        </>
      ),
    },
    { title: "nodes", by: (row) => row.counts[phase], cell: (row) => whole(row.counts[phase]), number: true },
    {
      title: "TensorFlow releases, 1.0 to now",
      by: (row) => row.since,
      cell: (row) => <Releases since={row.since} until={row.until} known={row.known} />,
      wide: true,
    },
  ];
}
