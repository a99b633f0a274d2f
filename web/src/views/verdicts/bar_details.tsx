/** What is behind a bar of the matrix. */

import type { JSX } from "preact";
import type { Matrix, MatrixDetail, MatrixStrip } from "../../api/reports";
import { Badge, OUTCOMES } from "../../components/verdict";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { FindingCard } from "./finding_card";
import { detailsBehind, rangeOf, subjectOf, type ChosenBar } from "./strips";

const MOST_FINDINGS = 8;

interface BarDetailsProps {
  chosen: ChosenBar;
  strip: MatrixStrip;
  matrix: Matrix;
  session: ModelSession;
  onCheck: (target: string) => void;
  onClose: () => void;
}

export function BarDetails({ chosen, strip, matrix, session, onCheck, onClose }: BarDetailsProps): JSX.Element {
  const { bar, cause } = chosen;
  const outcome = bar.outcome ?? "unknown";
  const title = cause ? `${subjectOf(cause)}, ${rangeOf(bar)}` : rangeOf(bar);
  return (
    <section class="bar-details stack" aria-label={`${title}: ${OUTCOMES[outcome].words}`} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <header class="flow spread">
        <div class="flow">
          <Badge outcome={outcome} />
          <h3>{title}</h3>
          {bar.length > 1 && outcome !== "runs" && <small>details from {bar.target}</small>}
        </div>
        <div class="flow">
          {!source.isStatic && (
            <button type="button" onClick={() => onCheck(bar.target)}>
              Check {bar.target}
            </button>
          )}
          <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </div>
      </header>
      {outcome !== "runs" && <Cards details={detailsBehind(chosen, strip, matrix)} session={session} />}
    </section>
  );
}

interface CardsProps {
  details: MatrixDetail[];
  session: ModelSession;
}

function Cards({ details, session }: CardsProps): JSX.Element {
  const more = details.length - MOST_FINDINGS;
  return (
    <>
      {details.slice(0, MOST_FINDINGS).map(({ finding, target, device }, index) => (
        <FindingCard key={index} finding={finding} title={`Findings on ${target}`} session={session} at={{ target, device }} open={index === 0} />
      ))}
      {more > 0 && <p class="soft">{more} more: check this release to see them all.</p>}
    </>
  );
}
