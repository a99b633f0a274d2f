/** How far a piece of work is. */

import type { JSX } from "preact";

interface ProgressBarProps {
  label: string;
  /** Between 0 and 1; null if nobody knows. */
  fraction: number | null;
}

export function ProgressBar({ label, fraction }: ProgressBarProps): JSX.Element {
  return (
    <div class="progress">
      <p role="status">
        {label}
        {fraction !== null && ` · ${Math.floor(fraction * 100)} %`}
      </p>
      <progress aria-label={label} max={1} {...(fraction === null ? {} : { value: fraction })} />
    </div>
  );
}
