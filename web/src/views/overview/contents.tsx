/** Files and tables that the model carries. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Inspection } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { baseName, bytes } from "../../components/format";
import { Request } from "../../components/states";
import { Name, printable } from "../../components/text";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";

interface ContentsProps {
  inspection: Inspection;
  session: ModelSession;
}

export function Assets({ inspection, session }: ContentsProps): JSX.Element | null {
  const { assets } = inspection;
  if (assets.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="assets">
      <h2 id="assets">Assets</h2>
      {assets.map(({ file, bytes: size }) => (
        <Asset key={file} session={session} file={file} size={size} />
      ))}
    </section>
  );
}

function Asset({ session, file, size }: { session: ModelSession; file: string; size: number | null }): JSX.Element {
  const [open, setOpen] = useState(false);
  const title = (
    <>
      <code>
        <Name text={baseName(file)} longest={80} />
      </code>{" "}
      <small>{size === null ? "missing" : bytes(size)}</small>
    </>
  );
  if (source.isStatic) return <p>{title}</p>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && (
        <Request ask={() => source.asset(session.id, file)} keys={[file]} what="Reading">
          {({ lines, more }) =>
            lines === null ? (
              <p class="soft">This file is not text.</p>
            ) : (
              <pre tabIndex={0} aria-label={`First lines of ${baseName(file)}`}>
                {lines.map(printable).join("\n") + (more ? "\n…" : "")}
              </pre>
            )
          }
        </Request>
      )}
    </details>
  );
}

type Table = Inspection["tables"][number];

const TABLE_COLUMNS: Column<Table>[] = [
  { title: "table", by: (table) => table.name, cell: (table) => <Name text={table.name} />, wide: true },
  { title: "op", by: (table) => table.op, cell: (table) => <code>{table.op}</code> },
  { title: "key → value", cell: (table) => `${table.key} → ${table.value}` },
  { title: "filled by", cell: (table) => <Name text={table.asset ? baseName(table.asset) : table.filled_by} longest={60} /> },
];

export function Tables({ inspection }: { inspection: Inspection }): JSX.Element | null {
  if (inspection.tables.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="tables">
      <h2 id="tables">Tables</h2>
      <DataTable label="Tables of the model" columns={TABLE_COLUMNS} rows={inspection.tables} keyOf={(table) => table.name} />
    </section>
  );
}
