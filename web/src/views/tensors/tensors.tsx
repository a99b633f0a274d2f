/** The stored tensors: sizes, types, statistics on demand. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Filter, passes } from "../../components/filter";
import { bytes, count } from "../../components/format";
import { Empty, Request } from "../../components/states";
import type { ViewProps } from "../../shell/model_page";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { tensorRows, type TensorRow } from "./rows";
import { TensorList } from "./tensor_list";
import { TensorTree } from "./tensor_tree";

export function Tensors({ session, query }: ViewProps): JSX.Element {
  return (
    <Request ask={() => rowsOf(session)} keys={[session]} what="Reading the list of tensors">
      {(rows) => <Stored session={session} rows={rows} selected={query.get("key")} />}
    </Request>
  );
}

/** Tensors of a checkpoint with their variables; of other formats, what the server lists. */
async function rowsOf(session: ModelSession): Promise<TensorRow[]> {
  const inspection = await session.inspection();
  if (source.isStatic || inspection.checkpoint.length > 0) return tensorRows(inspection);
  return (await source.tensors(session.id)).map((row) => ({ ...row, name: row.key }));
}

interface StoredProps {
  session: ModelSession;
  rows: TensorRow[];
  selected: string | null;
}

/** What both forms of the list take. */
export interface TensorListProps {
  model: string;
  rows: TensorRow[];
  selected: string | null;
  onSelect: (key: string | null) => void;
}

function Stored({ session, rows, selected }: StoredProps): JSX.Element {
  const [filter, setFilter] = useState("");
  const [asTree, setAsTree] = useState(false);
  const shown = useMemo(() => rows.filter((row) => passes(`${row.name} ${row.key} ${row.dtype}`, filter)), [rows, filter]);
  if (rows.length === 0) {
    return <Empty>{source.isStatic ? "This page does not list tensors; open the model with `tfport ui`." : "The model has no weights."}</Empty>;
  }
  const size = shown.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  const props: TensorListProps = {
    model: session.id,
    rows: shown,
    selected,
    onSelect: (key) => go(modelAddress(session.id, "tensors", key ? { key } : {}), true),
  };
  return (
    <section class="card stack" aria-label="Tensors">
      <div class="flow spread">
        <h2>
          {count(shown.length, "tensor")}, {bytes(size)}
        </h2>
        <div class="flow">
          <div class="choice" role="group" aria-label="Arrange as">
            <button type="button" aria-pressed={!asTree} onClick={() => setAsTree(false)}>
              List
            </button>
            <button type="button" aria-pressed={asTree} onClick={() => setAsTree(true)}>
              Tree
            </button>
          </div>
          <Filter label="Filter tensors" value={filter} onChange={setFilter} />
        </div>
      </div>
      {shown.length === 0 ? <Empty>No tensors match the filter.</Empty> : asTree ? <TensorTree {...props} /> : <TensorList {...props} />}
    </section>
  );
}
