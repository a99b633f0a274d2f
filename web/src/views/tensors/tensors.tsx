/** The stored tensors: sizes, types, statistics on demand. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Filter, passes } from "../../components/filter";
import { bytes, count } from "../../components/format";
import { Empty, Request } from "../../components/states";
import type { ViewProps } from "../../shell/model_page";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { tensorRows, type TensorRow } from "./rows";
import { TensorList } from "./tensor_list";
import { TensorTree } from "./tensor_tree";

export function Tensors({ session, query }: ViewProps): JSX.Element {
  return (
    <Request ask={session.inspection} keys={[session]} what="Reading the list of tensors">
      {(inspection) => <Stored session={session} rows={tensorRows(inspection)} selected={query.get("key")} />}
    </Request>
  );
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
    return <Empty>The model stores no tensors beside its graph: its weights, if it has some, are constants of the graph.</Empty>;
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
      {shown.length === 0 ? <Empty>No tensor passes the filter.</Empty> : asTree ? <TensorTree {...props} /> : <TensorList {...props} />}
    </section>
  );
}
