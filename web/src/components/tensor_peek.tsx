/** Statistics and first values of a tensor. */

import type { JSX } from "preact";
import type { PeekValue, TensorPeek, TensorStatistics } from "../api/types";
import { bytes, shape, short, whole } from "./format";
import { Histogram } from "./histogram";
import { SaveButton } from "./save";
import { Fact, Facts, printable, shortened } from "./text";

const LONGEST_VALUE = 200;

interface PeekProps {
  peek: TensorPeek;
  /** Gets the tensor as a file of NumPy, and its name. */
  npy?: { name: string; get: () => Promise<Blob> };
}

export function PeekOfTensor({ peek, npy }: PeekProps): JSX.Element {
  const { dtype, shape: dims, elements, bytes: size, statistics, values, note } = peek;
  return (
    <div class="peek">
      <p class="mono">
        {dtype} {shape(dims)}
        <span class="soft">
          {" "}
          {whole(elements)} elements, {bytes(size)}
        </span>
      </p>
      {statistics && <Statistics statistics={statistics} elements={elements} />}
      {note && <p class="soft">{note}</p>}
      {values.length > 0 && <Values values={values} elements={elements} />}
      {npy && <SaveButton label="Save as .npy" name={`${npy.name.replace(/[^\w.-]+/g, "_").slice(-100)}.npy`} get={npy.get} />}
    </div>
  );
}

function Statistics({ statistics, elements }: { statistics: TensorStatistics; elements: number }): JSX.Element {
  const { minimum, maximum, mean, deviation, zeros, not_finite, nan, histogram, distinct } = statistics;
  return (
    <div class="statistics">
      <Histogram counts={histogram} minimum={minimum} maximum={maximum} />
      <Facts>
        <Fact name="range">{minimum !== null && `${short(minimum)} … ${short(maximum)}`}</Fact>
        <Fact name="mean">{mean !== null && `${short(mean)} ± ${short(deviation)}`}</Fact>
        <Fact name="zeros">{zeros > 0 && `${whole(zeros)} (${((100 * zeros) / Math.max(elements, 1)).toFixed(1)} %)`}</Fact>
        <Fact name="not finite">{not_finite > 0 && <span class="glyph bad">{whole(not_finite)}</span>}</Fact>
        <Fact name="NaN">{nan > 0 && <span class="glyph bad">{whole(nan)}</span>}</Fact>
        <Fact name="different">{distinct !== null && whole(distinct)}</Fact>
      </Facts>
    </div>
  );
}

function Values({ values, elements }: { values: PeekValue[]; elements: number }): JSX.Element {
  const more = elements > values.length ? ", …" : "";
  return (
    <pre class="values" tabIndex={0} aria-label="First values">
      {values.map(valueText).join(", ") + more}
    </pre>
  );
}

/** A value as text; strings in quotes. */
export function valueText(value: PeekValue): string {
  if (typeof value === "number") return short(value);
  if (typeof value === "string") return /^-?(NaN|Infinity|inf|nan)$/.test(value) ? value : JSON.stringify(shortened(printable(value), LONGEST_VALUE));
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `${valueText(value[0])} + ${valueText(value[1])}i`;
  return `${value.b64.length} base64 characters`;
}
