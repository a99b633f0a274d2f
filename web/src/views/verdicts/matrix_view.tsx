/** Where the model runs, over all releases. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Matrix, MatrixStrip } from "../../api/reports";
import { shortened } from "../../components/text";
import { OUTCOMES, type Outcome } from "../../components/verdict";
import { changeQuery, setParameter } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { BarDetails } from "./bar_details";
import { MatrixTable } from "./matrix_table";
import { findingKey } from "./overlay_of_findings";
import { rangeOf, rowsOf, wordsOf, type ChosenBar } from "./strips";

interface MatrixViewProps {
  matrix: Matrix;
  session: ModelSession;
  query: URLSearchParams;
  onCheck: (target: string) => void;
}

export function MatrixView({ matrix, session, query, onCheck }: MatrixViewProps): JSX.Element {
  const index = Number(query.get("strip") ?? 0);
  const [release, cause] = [query.get("release"), query.get("cause")];
  const strip = matrix.strips[index];
  const bar = useMemo(() => (strip && release !== null ? barAt(strip, release, cause) : null), [strip, release, cause]);
  const place = (strip: number, chosen: ChosenBar | null) =>
    changeQuery((next) => {
      setParameter(next, "strip", strip ? String(strip) : null);
      setParameter(next, "release", chosen && chosen.bar.first);
      setParameter(next, "cause", chosen?.cause ? findingKey(chosen.cause) : null);
    }, true);
  const setBar = (chosen: ChosenBar | null) => place(index, chosen);
  return (
    <section class="card stack" aria-labelledby="matrix">
      <div class="flow spread">
        <h2 id="matrix">Where it runs</h2>
        <Legend />
      </div>
      <Headlines matrix={matrix} index={index} onChoose={(next) => place(next, null)} />
      {strip && <MatrixTable key={index} strip={strip} chosen={bar} onChoose={setBar} />}
      {bar && strip && (
        <BarDetails
          key={`${bar.cause?.code} ${bar.cause?.op} ${bar.cause?.attr} ${bar.bar.target}`}
          chosen={bar}
          strip={strip}
          matrix={matrix}
          session={session}
          onCheck={onCheck}
          onClose={() => setBar(null)}
        />
      )}
    </section>
  );
}

/** The bar that the address names by its first release and its cause. */
function barAt(strip: MatrixStrip, release: string, cause: string | null): ChosenBar | null {
  const row = rowsOf(strip).find((row) => (row.cause ? findingKey(row.cause) : null) === cause);
  const bar = row?.bars.find(({ first, outcome }) => first === release && outcome);
  return row && bar ? { cause: row.cause, bar } : null;
}

interface HeadlinesProps {
  matrix: Matrix;
  index: number;
  onChoose: (index: number) => void;
}

/** One card for each strip: the releases that run the model; a click shows its table. */
function Headlines({ matrix, index: current, onChoose }: HeadlinesProps): JSX.Element {
  return (
    <ul class="headlines">
      {matrix.strips.map((strip, index) => (
        <li key={index}>
          <Headline strip={strip} words={wordsOf(strip, matrix)} pressed={index === current} onChoose={() => onChoose(index)} />
        </li>
      ))}
    </ul>
  );
}

interface HeadlineProps {
  strip: MatrixStrip;
  words: string;
  pressed: boolean;
  onChoose: () => void;
}

function Headline({ strip, words, pressed, onChoose }: HeadlineProps): JSX.Element {
  const runs = strip.spans.filter(({ verdict }) => verdict === "runs");
  const isUnknown = runs.length === 0 && strip.spans.some(({ verdict }) => verdict === "unknown");
  const outcome: Outcome = runs.length ? "runs" : isUnknown ? "unknown" : "load";
  const answer = runs.length ? runs.map(rangeOf).join(", ") : isUnknown ? "unknown" : "nowhere";
  return (
    <button type="button" class={outcome} aria-pressed={pressed} onClick={onChoose}>
      <small title={shortened(words, 300)}>{shortened(words, 60)}</small>
      <strong>
        <span aria-hidden="true">{OUTCOMES[outcome].glyph}</span> {shortened(answer, 60)}
      </strong>
    </button>
  );
}

function Legend(): JSX.Element {
  return (
    <ul class="legend">
      {(Object.keys(OUTCOMES) as Outcome[]).map((outcome) => (
        <li key={outcome}>
          <span class={`swatch ${outcome}`} aria-hidden="true">
            {OUTCOMES[outcome].glyph}
          </span>
          {OUTCOMES[outcome].words}
        </li>
      ))}
    </ul>
  );
}
