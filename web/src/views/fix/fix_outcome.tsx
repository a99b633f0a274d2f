/** The result of a rewrite: rules, differences, both graphs, the certificate. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CertificateRule, FixReport, FixResult } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { count, whole } from "../../components/format";
import { SaveButton } from "../../components/save";
import { Name, Sentence } from "../../components/text";
import { modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { embedded, source } from "../../shell/source";
import { CertificateView } from "./certificate_view";
import { Changes } from "./changes";
import { Differences } from "./differences";
import { SideBySide, START } from "../compare/side_by_side";

const VERDICTS: Record<FixReport["verdict"], [glyph: string, tone: string, words: string]> = {
  fixed: ["✓", "runs", "The target should accept the rewritten model, and its outputs agree"],
  remains: ["✕", "load", "Not rewritten: no rule replaces what remains"],
  differs: ["✕", "load", "Rewritten, but the outputs differ: do not use it"],
  "not compared": ["?", "unknown", "Rewritten, but the outputs were not compared"],
};

interface FixOutcomeProps {
  answer: FixResult;
  session: ModelSession;
  job: string | null;
}

export function FixOutcome({ answer, session, job }: FixOutcomeProps): JSX.Element {
  const { result, certificate, rewritten, changes } = answer;
  const [glyph, tone, said] = VERDICTS[result.verdict] ?? VERDICTS["not compared"];
  const [place, setPlace] = useState(START);
  const words = certificate?.target_runs.ran ? said.replace("should accept", "accepts") : said;
  return (
    <div class="stack">
      <section class={`card answer ${tone}`} aria-label="Result">
        <h2>
          <span aria-hidden="true">{glyph}</span> {words}
        </h2>
        {certificate && (
          <p>
            <Sentence text={certificate.statement} />
          </p>
        )}
        <p class="soft">
          for <code>{result.target}</code>
          {certificate && (
            <>
              {" · "}
              <Sentence text={certificate.target_runs.statement} />
            </>
          )}
        </p>
        {result.remaining.length > 0 && <Remaining sentences={result.remaining} />}
        <div class="flow">
          {rewritten && job && <Download job={job} name={rewritten.name} />}
          {rewritten && <a href={modelAddress(rewritten.id)}>Open the rewritten model</a>}
        </div>
      </section>
      <Rules rules={result.rules} />
      {certificate && certificate.comparisons.length > 0 && <Differences comparisons={certificate.comparisons} />}
      {changes.length > 0 && <Changes changes={changes} session={session} />}
      {rewritten && !embedded && <SideBySide a={session.id} b={rewritten.id} titles={["Before", "After"]} place={place} onPlace={setPlace} />}
      {certificate && <CertificateView certificate={certificate} />}
    </div>
  );
}

function Remaining({ sentences }: { sentences: string[] }): JSX.Element {
  return (
    <ul>
      {sentences.map((sentence) => (
        <li key={sentence}>
          <Sentence text={sentence} />
        </li>
      ))}
    </ul>
  );
}

function Download({ job, name }: { job: string; name: string }): JSX.Element {
  return <SaveButton label="Download the model and its certificate" primary name={`${name}.zip`} get={() => source.download(job)} />;
}

const RULE_COLUMNS: Column<CertificateRule>[] = [
  { title: "keeps", by: (rule) => rule.keeps, cell: (rule) => <span class={`tag ${rule.keeps === "lossy" ? "warn" : ""}`}>{rule.keeps}</span> },
  {
    title: "rule",
    by: (rule) => rule.name,
    cell: (rule) => (
      <div class="wrap">
        <strong>{rule.name}</strong>
        <p class="soft">
          <Sentence text={rule.says ?? rule.doc ?? ""} />
        </p>
      </div>
    ),
    wide: true,
  },
  { title: "nodes", by: (rule) => rule.count, cell: (rule) => whole(rule.count), number: true },
  { title: "for example", cell: (rule) => <Name text={rule.nodes[0] ?? ""} longest={60} /> },
];

function Rules({ rules }: { rules: CertificateRule[] }): JSX.Element {
  return (
    <section class="card stack" aria-labelledby="rules">
      <h2 id="rules">{rules.length ? `${count(rules.length, "rule")} applied` : "No rule was needed"}</h2>
      {rules.length > 0 && <DataTable label="Rules" columns={RULE_COLUMNS} rows={rules} keyOf={(rule) => rule.name} />}
    </section>
  );
}
