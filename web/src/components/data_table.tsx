/** A table that sorts by its columns and scrolls inside itself; long ones show more rows on demand. */

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { whole } from "./format";

const PAGE = 200;

export interface Column<Row> {
  title: string;
  /** What the rows are sorted by; without it the column does not sort. */
  by?: (row: Row) => number | string | null;
  cell: (row: Row) => ComponentChildren;
  /** Numbers are set to the right, and sort from the largest. */
  number?: boolean;
  /** Takes the space that the others leave. */
  wide?: boolean;
}

interface DataTableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The column that sorts at first; without it the rows keep their order. */
  sorted?: string;
  isCurrent?: (row: Row) => boolean;
  /** A row of full width below a row. */
  below?: (row: Row) => ComponentChildren;
}

interface Order {
  title: string;
  descending: boolean;
}

export function DataTable<Row>(props: DataTableProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, sorted, isCurrent, below } = props;
  const [order, setOrder] = useState<Order | null>(() => firstOrder(columns, sorted));
  const [shown, setShown] = useState(PAGE);
  const ordered = useMemo(() => inOrder(rows, columns, order), [rows, order]);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="data">
        <thead>
          <tr>
            {columns.map((column) => (
              <HeadCell key={column.title} column={column} order={order} onOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered.slice(0, shown).map((row) => (
            <Rows key={keyOf(row)} row={row} columns={columns} current={isCurrent?.(row) ?? false} below={below?.(row)} />
          ))}
        </tbody>
      </table>
      {ordered.length > shown && (
        <button type="button" class="show-more" onClick={() => setShown(shown + PAGE * 5)}>
          Show more: {whole(shown)} of {whole(ordered.length)} are shown
        </button>
      )}
    </div>
  );
}

interface RowsProps<Row> {
  row: Row;
  columns: Column<Row>[];
  current: boolean;
  below: ComponentChildren;
}

function Rows<Row>({ row, columns, current, below }: RowsProps<Row>): JSX.Element {
  return (
    <>
      <tr aria-current={current || undefined}>
        {columns.map((column) => (
          <td key={column.title} class={classOf(column)}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
      {below && (
        <tr class="below">
          <td colSpan={columns.length}>{below}</td>
        </tr>
      )}
    </>
  );
}

interface HeadCellProps<Row> {
  column: Column<Row>;
  order: Order | null;
  onOrder: (order: Order) => void;
}

function HeadCell<Row>({ column, order, onOrder }: HeadCellProps<Row>): JSX.Element {
  const { title, by, number = false } = column;
  const isSorted = order?.title === title;
  const descending = isSorted ? !order.descending : number;
  const direction = isSorted ? (order.descending ? "descending" : "ascending") : "none";
  if (!by) {
    return (
      <th scope="col" class={classOf(column)}>
        {title}
      </th>
    );
  }
  return (
    <th scope="col" class={classOf(column)} aria-sort={direction}>
      <button type="button" onClick={() => onOrder({ title, descending })}>
        {title}
        <span aria-hidden="true">{isSorted ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function classOf<Row>({ number, wide }: Column<Row>): string | undefined {
  return number ? "number" : wide ? "wide" : undefined;
}

function firstOrder<Row>(columns: Column<Row>[], sorted?: string): Order | null {
  const column = columns.find(({ title }) => title === sorted);
  return column ? { title: column.title, descending: column.number ?? false } : null;
}

function inOrder<Row>(rows: readonly Row[], columns: Column<Row>[], order: Order | null): readonly Row[] {
  const by = columns.find(({ title }) => title === order?.title)?.by;
  if (!by || !order) return rows;
  const sign = order.descending ? -1 : 1;
  return [...rows].sort((a, b) => sign * compared(by(a), by(b)));
}

function compared(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
