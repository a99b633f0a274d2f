/** The results of a check, a column for each target. */

import type { JSX } from "preact";
import type { CheckReport, CheckResult, Finding } from "../../api/reports";
import { count } from "../../components/format";
import { Name, Sentence } from "../../components/text";
import { Badge, outcomeOf } from "../../components/verdict";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { FindingCard } from "./finding_card";
import { overlayOf } from "./overlay_of_findings";

const ORDER = ["error", "warning", "note"];

export function CheckResults({ report, session }: { report: CheckReport; session: ModelSession }): JSX.Element {
  return (
    <div class="results">
      {report.results.map((result, index) => (
        <Result key={`${result.target} ${result.device} ${index}`} result={result} others={report.results.filter((other) => other !== result)} session={session} />
      ))}
    </div>
  );
}

interface ResultProps {
  result: CheckResult;
  others: CheckResult[];
  session: ModelSession;
}

function Result({ result, others, session }: ResultProps): JSX.Element {
  const findings = [...result.findings].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  const loud = findings.filter(({ severity }) => severity !== "note");
  const quiet = findings.filter(({ severity }) => severity === "note");
  const card = (finding: Finding, index: number) => (
    <FindingCard key={index} finding={finding} title={`Findings on ${result.target}`} session={session} at={result} also={alsoOn(finding, result.target, others)} open={index === 0 && finding.severity !== "note"} />
  );
  return (
    <section class="result stack" aria-label={`Result for ${result.target}, ${result.device}, loaded by ${result.loaders.join(" and ")}`}>
      <header class="flow spread">
        <div>
          <h3 class="mono">
            <Name text={result.target} longest={120} />
          </h3>
          <small>
            {result.device.toUpperCase()}
            {result.loaders.length > 0 && `, loaded by ${result.loaders.join(" and ")}`}
          </small>
        </div>
        <Badge outcome={outcomeOf(result.verdict, result.stage)} />
      </header>
      {result.notes.map((note) => (
        <p key={note} class="soft">
          <Sentence text={note} />
        </p>
      ))}
      <div class="flow">
        {loud.some(({ all_nodes: nodes }) => nodes?.length) && source.tabs().includes("graph") && (
          <button type="button" onClick={() => showAll(result, loud, session)}>
            Show all in the graph
          </button>
        )}
        {result.verdict === "fails" && !source.isStatic && (
          <a href={modelAddress(session.id, "fix", { target: result.target })}>Rewrite it for this target</a>
        )}
      </div>
      {findings.length === 0 && <p class="soft">Found nothing that would stop it.</p>}
      {loud.map(card)}
      {quiet.length > 0 && (
        <details>
          <summary>{count(quiet.length, "note")}</summary>
          <div class="stack">{quiet.map(card)}</div>
        </details>
      )}
    </section>
  );
}

function showAll(result: CheckResult, findings: Finding[], session: ModelSession): void {
  session.overlay.value = overlayOf(findings, `Findings on ${result.target}`);
  const first = findings.flatMap(({ all_nodes: nodes = [] }) => nodes)[0];
  const place = { target: result.target, ...(result.device === "gpu" ? { device: "gpu" } : {}) };
  go(modelAddress(session.id, "graph", first ? { ...place, graph: first.graph, node: first.node } : place));
}

/** The other targets that have the same finding. */
function alsoOn(finding: Finding, target: string, others: CheckResult[]): string[] {
  const isSame = (other: Finding) => other.code === finding.code && other.op === finding.op && other.attr === finding.attr;
  const targets = others.filter(({ findings }) => findings.some(isSame)).map((other) => other.target);
  return [...new Set(targets)].filter((other) => other !== target);
}
