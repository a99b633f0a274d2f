/** The summary of an audit: how many models run where, what stops the others, and what changed. */

import type { JSX } from "preact";
import type { AuditReport } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { bytes, whole } from "../../components/format";
import { Name } from "../../components/text";

export function Audit({ audit }: { audit: AuditReport }): JSX.Element {
  return (
    <main id="main" class="page" tabIndex={-1} aria-label="Audit">
      <h1>
        <Name text={audit.stores.join(", ")} longest={120} />
      </h1>
      <p>
        {whole(audit.models)} models, {bytes(audit.bytes)}
        {!audit.complete && "; interrupted: the same command continues"}
      </p>
      <Table label="Where they run" rows={audit.targets} columns={targetColumns(audit)} />
      {audit.upgrade && <UpgradeTable audit={audit} />}
      <Table label="What stops them" rows={audit.causes} columns={causeColumns(audit)} />
      <Table label="What they could do to the machine that loads them" rows={audit.risks} columns={RISKS} />
      <Table label="Signatures that changed between versions" rows={audit.signature_changes} columns={CHANGES} />
      <Table label={`By ${audit.group_by ?? ""}`} rows={audit.groups} columns={groupColumns(audit)} />
      <Table label="New problems" rows={audit.new_problems} columns={PROBLEMS} />
      <Table label="Not read" rows={audit.not_read} columns={NOT_READ} />
    </main>
  );
}

function Table<Row>({ label, rows, columns }: { label: string; rows: readonly Row[]; columns: Column<Row>[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>{label}</h2>
      <DataTable label={label} rows={rows} columns={columns} keyOf={(row) => JSON.stringify(row)} />
    </section>
  );
}

function UpgradeTable({ audit }: { audit: AuditReport }): JSX.Element | null {
  const { upgrade } = audit;
  if (!upgrade) return null;
  const rows = [
    { what: "keeps running", models: upgrade.keeps_running },
    { what: "breaks", models: upgrade.breaks },
    ...(audit.tried_fix
      ? [
          { what: "breaks, can be rewritten (outputs were not compared)", models: upgrade.rewritten },
          { what: "breaks, needs a person", models: upgrade.needs_person },
        ]
      : []),
    { what: "starts running", models: upgrade.starts_running },
    { what: "runs on neither", models: upgrade.runs_on_neither },
    { what: "undecided", models: upgrade.undecided },
  ];
  return (
    <>
      <Table
        label={`From ${upgrade.before} to ${upgrade.after}`}
        rows={rows}
        columns={STEPS}
      />
      <Table label="Needs a person" rows={upgrade.people} columns={PEOPLE} />
    </>
  );
}

function text<Row>(title: string, of: (row: Row) => string): Column<Row> {
  return { title, by: of, cell: (row) => <Name text={of(row)} longest={200} /> };
}

function number<Row>(title: string, of: (row: Row) => number): Column<Row> {
  return { title, by: of, cell: (row) => whole(of(row)), number: true };
}

type Target = AuditReport["targets"][number];
type Cause = AuditReport["causes"][number];
type Group = AuditReport["groups"][number];

function targetColumns(audit: AuditReport): Column<Target>[] {
  const columns = [
    text<Target>("target", (row) => row.target),
    number<Target>("runs", (row) => row.runs),
    number<Target>("fails at load", (row) => row.fails_at_load),
    number<Target>("fails at run", (row) => row.fails_at_run),
    number<Target>("unknown", (row) => row.unknown),
  ];
  if (!audit.tried_fix) return columns;
  return [...columns, number("can be rewritten", (row) => row.rewritten), number("needs a person", (row) => row.remains + row.not_tried)];
}

function causeColumns(audit: AuditReport): Column<Cause>[] {
  return [
    number<Cause>("models", (row) => row.models),
    number<Cause>("alone", (row) => row.alone),
    ...(audit.tried_fix ? [number<Cause>("can be rewritten", (row) => row.rewritten)] : []),
    text<Cause>("target", (row) => row.target),
    text<Cause>("cause", (row) => `${row.code} ${row.subject}`),
    { ...text<Cause>("for example", (row) => `${row.examples[0] ?? ""}: ${row.message}`), wide: true },
  ];
}

function groupColumns(audit: AuditReport): Column<Group>[] {
  return [
    text<Group>(audit.group_by ?? "group", (row) => row.group),
    number<Group>("models", (row) => row.models),
    ...audit.targets.map(({ target }) => number<Group>(`fails on ${target}`, (row) => row.fails[target] ?? 0)),
    number<Group>("not read", (row) => row.unread),
  ];
}

const RISKS: Column<AuditReport["risks"][number]>[] = [
  number("models", (row) => row.models),
  text("severity", (row) => row.severity),
  text("code", (row) => row.code),
  text("for example", (row) => `${row.example}: ${row.message}`),
];
const CHANGES: Column<AuditReport["signature_changes"][number]>[] = [
  text("model", (row) => row.name),
  text("versions", (row) => `${row.before} to ${row.after}`),
  text("changes", (row) => row.changes.join("; ")),
];
const PROBLEMS: Column<AuditReport["new_problems"][number]>[] = [
  text("model", (row) => row.path),
  text("target", (row) => row.target),
  text("verdict", (row) => `${row.before ?? "new"} → ${row.verdict}`),
  text("causes", (row) => row.causes.join(", ")),
];
const NOT_READ: Column<AuditReport["not_read"][number]>[] = [text("model", (row) => row.path), text("why", (row) => row.error)];
const STEPS: Column<{ what: string; models: number }>[] = [text("", (row) => row.what), number("models", (row) => row.models)];
const PEOPLE: Column<{ path: string; why: string }>[] = [text("model", (row) => row.path), text("why", (row) => row.why)];
