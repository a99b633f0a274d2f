/** Small pictures of numbers. */

import type { JSX } from "preact";
import { short, whole } from "./format";

const WIDTH = 240;
const HEIGHT = 48;

interface HistogramProps {
  counts: readonly number[];
  minimum: number | null;
  maximum: number | null;
}

/** How often values lie in bins between the minimum and the maximum. */
export function Histogram({ counts, minimum, maximum }: HistogramProps): JSX.Element | null {
  const most = Math.max(...counts, 0);
  if (!most) return null;
  const step = WIDTH / counts.length;
  const label = `Histogram of ${counts.length} bins from ${short(minimum)} to ${short(maximum)}`;
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {counts.map((number, index) => {
          const height = number && Math.max(1, (number / most) * HEIGHT);
          return (
            <rect key={index} x={index * step} y={HEIGHT - height} width={Math.max(step - 1, 0.5)} height={height}>
              <title>{whole(number)}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span>{short(minimum)}</span>
        <span>{short(maximum)}</span>
      </figcaption>
    </figure>
  );
}

/** Numbers in a row as cells from pale to strong. */
export function HeatStrip({ values, label }: { values: readonly number[]; label: string }): JSX.Element {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  return (
    <div class="heat-strip" role="img" aria-label={label}>
      {values.map((value, index) => (
        <span key={index} style={{ opacity: 0.06 + (0.94 * (value - low)) / range }} title={`[${index}] ${short(value)}`} />
      ))}
    </div>
  );
}
