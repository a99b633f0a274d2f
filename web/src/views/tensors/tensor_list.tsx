/** Tensors as a table that sorts; a click shows statistics and first values. */

import type { JSX } from "preact";
import { DataTable, type Column } from "../../components/data_table";
import { bytes, shape } from "../../components/format";
import { Request } from "../../components/states";
import { PeekOfTensor } from "../../components/tensor_peek";
import { Name } from "../../components/text";
import { source } from "../../shell/source";
import type { TensorRow } from "./rows";
import type { TensorListProps } from "./tensors";

export function TensorList({ model, rows, selected, onSelect }: TensorListProps): JSX.Element {
  const most = Math.max(1, ...rows.map((row) => row.bytes ?? 0));
  const columns: Column<TensorRow>[] = [
    {
      title: "name",
      by: (row) => row.name,
      cell: (row) => (
        <>
          <TensorName row={row} text={row.name} selected={selected} onSelect={onSelect} />
          {!row.key.startsWith(row.name) && (
            <small class="key">
              <Name text={row.key} longest={120} />
            </small>
          )}
        </>
      ),
      wide: true,
    },
    { title: "type", by: (row) => row.dtype, cell: (row) => row.dtype },
    { title: "shape", by: (row) => elementsOf(row), cell: (row) => <code>{shape(row.shape)}</code> },
    { title: "size", by: (row) => row.bytes, cell: (row) => <Size row={row} most={most} />, number: true },
  ];
  return (
    <DataTable
      label="Stored tensors"
      columns={columns}
      rows={rows}
      keyOf={(row) => row.key}
      isCurrent={(row) => row.key === selected}
      below={(row) => row.key === selected && <Peek model={model} row={row} />}
    />
  );
}

interface TensorNameProps {
  row: TensorRow;
  text: string;
  selected: string | null;
  onSelect: (key: string | null) => void;
}

/** The name, which opens the statistics where there is a server to compute them. */
export function TensorName({ row, text, selected, onSelect }: TensorNameProps): JSX.Element {
  if (source.isStatic) {
    return (
      <span class="mono">
        <Name text={text} />
      </span>
    );
  }
  const isOpen = row.key === selected;
  return (
    <button type="button" class="link mono" aria-expanded={isOpen} onClick={() => onSelect(isOpen ? null : row.key)}>
      <Name text={text} />
    </button>
  );
}

/** Statistics and first values of a tensor. */
export function Peek({ model, row }: { model: string; row: TensorRow }): JSX.Element {
  return (
    <Request ask={() => source.tensor(model, row.key)} keys={[model, row.key]} what="Reading the values">
      {(peek) => <PeekOfTensor peek={peek} npy={{ name: row.name, get: () => source.npy(model, row.key) }} />}
    </Request>
  );
}

function Size({ row, most }: { row: TensorRow; most: number }): JSX.Element {
  return (
    <span class="size">
      <span class="size-bar" aria-hidden="true" style={{ width: `${(48 * (row.bytes ?? 0)) / most}px` }} />
      {bytes(row.bytes)}
    </span>
  );
}

function elementsOf({ shape: dims }: TensorRow): number | null {
  return dims?.reduce<number>((product, dim) => product * (dim ?? 1), 1) ?? null;
}
