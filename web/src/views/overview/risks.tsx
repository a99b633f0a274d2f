/** What the model could do to the machine that loads it. */

import type { JSX } from "preact";
import type { Finding, Risk, ScanReport } from "../../api/reports";
import { count } from "../../components/format";
import { Request, useRequest } from "../../components/states";
import type { ModelSession } from "../../shell/session";
import { FindingCard } from "../verdicts/finding_card";

const MOST_CARDS = 50;

/** The findings above a note, where there are some: they come first. */
export function Risks({ session }: { session: ModelSession }): JSX.Element | null {
  const request = useRequest(session.scan, [session]);
  return request.state === "ready" && isHarmful(request.value) ? <Scan report={request.value} session={session} /> : null;
}

/** The scan of a model without such findings: the last thing to read. */
export function HarmlessScan({ session }: { session: ModelSession }): JSX.Element {
  return (
    <Request ask={session.scan} keys={[session]} what="Scanning">
      {(report) => !isHarmful(report) && <Scan report={report} session={session} />}
    </Request>
  );
}

function isHarmful({ severity }: ScanReport): boolean {
  return severity === "error" || severity === "warning";
}

function Scan({ report, session }: { report: ScanReport; session: ModelSession }): JSX.Element {
  const loud = report.risks.filter(({ severity }) => severity !== "note");
  const quiet = report.risks.filter(({ severity }) => severity === "note");
  const card = (risk: Risk, index: number) => (
    <FindingCard key={index} finding={findingOf(risk)} title="Scan findings" session={session} open={index === 0 && risk.severity !== "note"} />
  );
  return (
    <section class="card stack" aria-labelledby="risks">
      <h2 id="risks">What it could do</h2>
      {loud.length === 0 && <p class="soft">Nothing found that touches files, the network, Python or other code.</p>}
      {loud.slice(0, MOST_CARDS).map(card)}
      {loud.length > MOST_CARDS && <p class="soft">{count(loud.length - MOST_CARDS, "more finding")}; tfport scan prints all.</p>}
      {quiet.length > 0 && (
        <details>
          <summary>{count(quiet.length, "note")}</summary>
          <div class="stack">{quiet.slice(0, MOST_CARDS).map(card)}</div>
        </details>
      )}
    </section>
  );
}

/** A risk as the card of a finding shows it. */
function findingOf(risk: Risk): Finding {
  const here = risk.own_runtime ? [risk.own_runtime] : [];
  const [first = null] = risk.nodes;
  return {
    ...risk,
    stage: null,
    node: first && first.node,
    function: first && first.function,
    signatures: [],
    attr: null,
    tensorflow_says: null,
    cause: [risk.why, ...here].filter(Boolean).join("; ") || null,
    doubt: null,
    fixes: [],
  };
}
