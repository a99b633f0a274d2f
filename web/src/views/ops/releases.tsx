/** Since and until when an op exists, as a bar on the line of releases. */

import type { JSX } from "preact";

/** Where a release lies between TensorFlow 1.0 and the newest; minor releases have equal widths. */
const MINORS_OF_1 = 16;
const MINORS_OF_2 = 22;

interface ReleasesProps {
  since: string | null;
  until: string | null;
  known: boolean;
}

export function Releases({ since, until, known }: ReleasesProps): JSX.Element {
  if (!known) return <span class="soft">in no recorded release</span>;
  const start = since ? positionOf(since) : 0;
  const end = until ? positionOf(until) + 1 / (MINORS_OF_1 + MINORS_OF_2) : 1;
  return (
    <span class="releases">
      <span class="release-line" aria-hidden="true" style={{ "--series": `${(100 * MINORS_OF_1) / (MINORS_OF_1 + MINORS_OF_2)}%` }}>
        <span style={{ left: `${start * 100}%`, width: `${Math.max(end - start, 0.02) * 100}%` }} />
      </span>
      <span>{wordsOf(since, until)}</span>
    </span>
  );
}

function wordsOf(since: string | null, until: string | null): string {
  if (!until) return since && since !== "1.0.0" ? `since ${since}` : "all";
  return since && since !== "1.0.0" ? `${since} to ${until}` : `until ${until}`;
}

function positionOf(release: string): number {
  const [major = 0, minor = 0] = release.split(".").map(Number);
  const index = major < 1 ? 0 : major === 1 ? minor : MINORS_OF_1 + minor;
  return Math.min(1, index / (MINORS_OF_1 + MINORS_OF_2));
}
