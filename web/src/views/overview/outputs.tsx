/** The outputs of a run: tables, strips of color, the largest values, pictures. */

import type { JSX } from "preact";
import type { OutputValue } from "../../api/reports";
import { shape, short, whole } from "../../components/format";
import { HeatStrip } from "../../components/histogram";
import { Name, printable, shortened } from "../../components/text";
import { Picture, pictureOf } from "./picture";

const MOST_ROWS = 16;
const MOST_COLUMNS = 12;
const MOST_CELLS_OF_STRIP = 512;
const TOP = 5;
const LEAST_FOR_TOP = 8;

export function Outputs({ outputs }: { outputs: Record<string, OutputValue> }): JSX.Element {
  return (
    <div class="stack" aria-label="Outputs">
      {Object.entries(outputs).map(([name, output]) => (
        <section key={name} class="output">
          <h4>
            <span class="mono">
              <Name text={name} longest={80} />
            </span>{" "}
            <small>
              {output.dtype} {shape(output.shape)}
            </small>
          </h4>
          <Output output={output} labels={labelsOf(output, outputs)} />
        </section>
      ))}
    </div>
  );
}

/** The names of classes: another output of the same shape that has strings. */
function labelsOf({ shape: dims }: OutputValue, outputs: Record<string, OutputValue>): string[] {
  const texts = Object.values(outputs).find((other) => other.dtype === "string" && other.shape.join() === dims.join());
  return texts ? (rowsOf(texts.value, dims.length)[0] ?? []).map(cellText) : [];
}

function Output({ output, labels }: { output: OutputValue; labels: string[] }): JSX.Element {
  const elements = output.shape.reduce((product, dim) => product * dim, 1);
  if (elements === 0) return <p class="soft">empty</p>;
  const picture = pictureOf(output);
  if (picture) return <Picture {...picture} />;
  const rows = rowsOf(output.value, output.shape.length);
  const [first = []] = rows;
  const isNumeric = first.length > 1 && rows.every((row) => row.every((cell) => typeof cell === "number"));
  const isReal = /float|half/.test(output.dtype);
  return (
    <div class="stack">
      {isNumeric && first.length <= MOST_CELLS_OF_STRIP && (
        <Strips rows={rows.slice(0, MOST_ROWS) as number[][]} />
      )}
      {isNumeric && isReal && first.length >= LEAST_FOR_TOP && <Largest row={first as number[]} labels={labels} />}
      <Cells rows={rows} />
    </div>
  );
}

/** The values as rows of the last axis. */
function rowsOf(value: unknown, rank: number): unknown[][] {
  if (rank === 0) return [[value]];
  if (rank === 1) return [value as unknown[]];
  return (value as unknown[]).flatMap((part) => rowsOf(part, rank - 1));
}

function Strips({ rows }: { rows: number[][] }): JSX.Element {
  return (
    <div class="strips">
      {rows.map((row, index) => (
        <HeatStrip key={index} values={row} label={`Row ${index}: ${row.length} values from pale (smallest) to strong (largest)`} />
      ))}
    </div>
  );
}

/** The largest values of the first row, as of a classifier. */
function Largest({ row, labels }: { row: number[]; labels: string[] }): JSX.Element {
  const order = row.map((value, index) => ({ value, index })).sort((a, b) => b.value - a.value);
  const most = Math.max(...row.map(Math.abs)) || 1;
  return (
    <table class="largest">
      <caption>Largest in row 0</caption>
      <tbody>
        {order.slice(0, TOP).map(({ value, index }) => (
          <tr key={index}>
            <th scope="row">{labels[index] ?? `[${index}]`}</th>
            <td>
              <span class="bar" style={{ width: `${Math.max(0, (100 * value) / most)}%` }} />
            </td>
            <td class="number">{short(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cells({ rows }: { rows: unknown[][] }): JSX.Element {
  const columns = Math.max(...rows.map((row) => row.length));
  const hidden = [
    rows.length > MOST_ROWS && `${whole(rows.length - MOST_ROWS)} more rows`,
    columns > MOST_COLUMNS && `${whole(columns - MOST_COLUMNS)} more columns`,
  ].filter(Boolean);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Values">
      <table class="cells">
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, index) => (
            <tr key={index}>
              {row.slice(0, MOST_COLUMNS).map((cell, column) => (
                <td key={column}>{cellText(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hidden.length > 0 && <p class="soft">{hidden.join(", ")}</p>}
    </div>
  );
}

function cellText(cell: unknown): string {
  if (typeof cell === "number") return short(cell);
  if (typeof cell === "string") return shortened(printable(cell), 80);
  return shortened(JSON.stringify(cell) ?? "", 80);
}
