/** The nodes that differ, as a table. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { DataTable, type Column } from "../../components/data_table";
import { Filter, passes } from "../../components/filter";
import { count } from "../../components/format";
import { Name, Sentence } from "../../components/text";
import type { DifferenceRow } from "./difference_rows";

const MARKS = { added: "+", gone: "−", changed: "~", renamed: "=" };

interface DifferenceListProps {
  rows: DifferenceRow[];
  onSelect: (row: DifferenceRow) => void;
}

export function DifferenceList({ rows, onSelect }: DifferenceListProps): JSX.Element {
  const [filter, setFilter] = useState("");
  const shown = useMemo(() => rows.filter((row) => passes(`${row.kind} ${row.a ?? ""} ${row.b ?? ""} ${row.what}`, filter)), [rows, filter]);
  const columns: Column<DifferenceRow>[] = [
    {
      title: "difference",
      by: (row) => row.kind,
      cell: (row) => (
        <span class={`difference-kind ${row.kind}`}>
          <span aria-hidden="true">{MARKS[row.kind]}</span> {row.kind}
        </span>
      ),
    },
    {
      title: "node",
      by: (row) => row.a ?? row.b,
      cell: (row) => (
        <button type="button" class="link mono" onClick={() => onSelect(row)}>
          <Name text={row.a ?? row.b ?? ""} />
        </button>
      ),
      wide: true,
    },
    {
      title: "what",
      cell: (row) => (
        <span class="wrap">
          <Sentence text={row.what} />
        </span>
      ),
    },
  ];
  return (
    <div class="stack tight bounded">
      <div class="flow spread">
        <h3>{count(rows.length, "node")} {rows.length === 1 ? "differs" : "differ"}</h3>
        <Filter label="Filter differences" value={filter} onChange={setFilter} />
      </div>
      <DataTable label="Nodes that differ" columns={columns} rows={shown} keyOf={(row) => `${row.kind} ${row.a} ${row.b}`} />
    </div>
  );
}
