/** The releases as columns, the verdict and its causes as rows of bars. */

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MatrixStrip } from "../../api/reports";
import { Name } from "../../components/text";
import { OUTCOMES } from "../../components/verdict";
import { isSameCause, minorsOf, rangeOf, rowsOf, subjectOf, type Bar, type ChosenBar, type MatrixRow } from "./strips";

const MOST_ROWS = 40;
const LETTERS_PER_MINOR = 3.4;

interface MatrixTableProps {
  strip: MatrixStrip;
  chosen: ChosenBar | null;
  onChoose: (bar: ChosenBar | null) => void;
}

export function MatrixTable({ strip, chosen, onChoose }: MatrixTableProps): JSX.Element {
  const [all, setAll] = useState(false);
  const rows = useMemo(() => rowsOf(strip), [strip]);
  const minors = useMemo(() => minorsOf(strip), [strip]);
  const widths = minors.flatMap(({ releases }) => releases.map(() => 1 / releases.length));
  const scroll = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => showGreen(scroll.current), [strip]);
  const shown = all ? rows : rows.slice(0, MOST_ROWS + 1);
  return (
    <div ref={scroll} class="table-scroll matrix-scroll" tabIndex={0} role="region" aria-label={`Releases of ${strip.package}`}>
      <table class="matrix" style={{ "--minors": minors.length }}>
        <colgroup>
          <col class="label" />
          {widths.map((width, index) => (
            <col key={index} style={{ width: `calc(var(--minor) * ${width})` }} />
          ))}
        </colgroup>
        <Head minors={minors} />
        <tbody>
          {shown.map((row) => (
            <Row key={row.cause ? `${row.cause.code} ${subjectOf(row.cause)}` : ""} row={row} widths={widths} chosen={chosen} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <button type="button" class="show-more" onClick={() => setAll(true)}>
          Show {rows.length - shown.length} more causes
        </button>
      )}
    </div>
  );
}

/** Where the table is wider than the window: the newest releases that run the model come into view first. */
function showGreen(scroll: HTMLElement | null): void {
  const cells = scroll?.querySelectorAll<HTMLElement>(".verdict td:has(.bar.runs)") ?? [];
  const last = cells[cells.length - 1];
  if (scroll && last) scroll.scrollLeft = Math.max(0, last.offsetLeft + last.offsetWidth - scroll.clientWidth);
}

function Head({ minors }: { minors: ReturnType<typeof minorsOf> }): JSX.Element {
  const majors = new Map<string, number>();
  for (const { major, releases } of minors) majors.set(major, (majors.get(major) ?? 0) + releases.length);
  return (
    <thead>
      <tr>
        <td />
        {[...majors].map(([major, patches]) => (
          <th key={major} class="series" scope="colgroup" colSpan={patches}>
            {major}.x
          </th>
        ))}
      </tr>
      <tr>
        <td />
        {minors.map(({ major, minor, releases }) => (
          <th key={`${major}.${minor}`} scope="colgroup" colSpan={releases.length} title={releases.join(", ")}>
            {minor}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  row: MatrixRow;
  widths: number[];
  chosen: ChosenBar | null;
  onChoose: (bar: ChosenBar | null) => void;
}

function Row({ row, widths, chosen, onChoose }: RowProps): JSX.Element {
  const { cause, bars } = row;
  const isChosen = (bar: Bar) => chosen?.bar.start === bar.start && isSameCause(chosen.cause, cause);
  return (
    <tr class={cause ? "" : "verdict"}>
      <th scope="row">
        {cause ? (
          <>
            <small>{cause.code}</small>{" "}
            <code>
              <Name text={subjectOf(cause)} longest={80} />
            </code>
          </>
        ) : (
          "verdict"
        )}
      </th>
      {bars.map((bar) => (
        <td key={bar.start} colSpan={bar.length}>
          {bar.outcome && (
            <button
              type="button"
              class={`bar ${bar.outcome}`}
              aria-pressed={isChosen(bar)}
              aria-label={`${cause ? subjectOf(cause) : "verdict"}, ${rangeOf(bar)}: ${OUTCOMES[bar.outcome].words}`}
              title={`${rangeOf(bar)}: ${OUTCOMES[bar.outcome].words}`}
              onClick={() => onChoose(isChosen(bar) ? null : { cause, bar })}
            >
              {textOf(bar, cause === null, widths)}
            </button>
          )}
        </td>
      ))}
    </tr>
  );
}

/** The words of a bar that fit; at least its glyph. */
function textOf(bar: Bar, isVerdict: boolean, widths: number[]): string {
  const space = widths.slice(bar.start, bar.start + bar.length).reduce((sum, width) => sum + width, 0) * LETTERS_PER_MINOR;
  const { glyph, words } = OUTCOMES[bar.outcome ?? "unknown"];
  const text = isVerdict ? `${glyph} ${words}` : rangeOf(bar);
  if (text.length <= space) return text;
  return space >= 1.5 ? glyph : "";
}
