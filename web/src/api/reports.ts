/** The documents that commands print with `--json`, as far as the page uses them. */

import type { ModelEntry, NodeAddress } from "./types";

export type Verdict = "runs" | "fails" | "unknown";
export type Stage = "load" | "run" | null;

export interface TensorSpec {
  dtype: string;
  shape: (number | null)[] | null;
  form: string;
  tensors: string[];
}

export interface SignatureSpec {
  method: string;
  inputs: Record<string, TensorSpec>;
  outputs: Record<string, TensorSpec>;
  defaults: string[];
}

export interface Fetched {
  fetches: string[];
  feeds: string[];
  guessed: boolean;
  needed_nodes: number;
  unneeded_nodes: number;
}

type Counts = Record<string, number>;

/** `tfport inspect --json`. */
export interface Inspection {
  version: 1;
  model: string;
  kind: string;
  tags: string[];
  tag_sets: string[][];
  producer: { tensorflow: string | null; graph_def: number; min_consumer: number; made_with: string[] };
  signatures: Record<string, SignatureSpec>;
  inputs: Record<string, TensorSpec>;
  outputs: string[];
  fetched: Fetched | null;
  graph: { nodes: number; functions: number; devices: string[] };
  ops: {
    signatures: Record<string, Counts>;
    loading: Counts;
    saving: Counts;
    rest: Counts;
    total: Counts;
    custom: Counts;
    addons: Record<string, string[]>;
    newest: Record<string, string>;
    gone: Record<string, string>;
    /** The first and last release that registers each op; null for an op that none does, or the newest still does. */
    releases: Record<string, { since: string | null; until: string | null }>;
  };
  variables: { name: string; dtype: string; shape: (number | null)[] | null; key: string | null; slice: string | null }[];
  checkpoint: {
    key: string;
    dtype: string;
    shape: (number | null)[] | null;
    bytes: number | null;
    variable: string | null;
  }[];
  tables: { name: string; op: string; key: string; value: string; filled_by: string; asset: string | null }[];
  assets: { file: string; tensor: string | null; bytes: number | null }[];
  problems: string[];
  keras: KerasInspection | null;
  lite: LiteInspection | null;
}

export interface KerasInspection {
  layout: string;
  version: string | null;
  backend: string | null;
  saved_at: string | null;
  class: string | null;
  name: string | null;
  architecture: boolean;
  weights: boolean;
  layers: {
    name: string;
    class: string;
    depth: number;
    shapes: (number | null)[][];
    parameters: number | null;
    trainable_parameters: number | null;
    inputs: string[];
    custom: boolean;
  }[];
  parameters: number | null;
  trainable_parameters: number | null;
  custom_classes: string[];
  optimizer: { class: string; config: Record<string, unknown> } | null;
  compiled: unknown;
  unsafe: { kind: string; where: string; detail: string }[];
  stored: { owner: string; name: string; dtype: string; shape: number[] }[];
  no_graph: string | null;
}

export interface LiteTensorSpec {
  name: string;
  type: string;
  shape: number[];
  scale: number[];
  zero_point: number[];
}

export interface LiteInspection {
  schema: number;
  description: string;
  min_runtime_version: string | null;
  bytes: number;
  operators: { op: string; version: number; custom: string | null; flex: string | null; count: number }[];
  signatures: Record<string, { inputs: Record<string, LiteTensorSpec>; outputs: Record<string, LiteTensorSpec> }>;
  subgraphs: { name: string; tensors: number; operators: number }[];
  quantization: string | null;
  per_channel_weights: number;
  weights: Record<string, number>;
  activations: number;
  metadata: string[];
  model: Record<string, string | null>;
  associated_files: unknown[];
  no_graph: string | null;
}

export interface Producer {
  tensorflow: string | null;
  graph_def: number;
  min_consumer: number;
  keras: string | null;
  lite: string | null;
}

/** A reason in the matrix: what is missing, without the nodes. */
export interface MatrixCause {
  code: string;
  op: string | null;
  attr: string | null;
  stage: Stage;
}

/** A cause in a range of releases, with its finding on the newest of them. */
export interface MatrixDetail extends Omit<MatrixCause, "stage"> {
  package: string;
  device: string;
  loader: string | null;
  signatures: string[];
  first: string;
  last: string;
  release: string;
  target: string;
  outcome: "load" | "run" | "unknown";
  /** How many findings of that release have this code, op and attribute; `finding` is the first. */
  findings: number;
  finding: Finding;
}

export interface MatrixOutcome {
  verdict: Verdict;
  stage: Stage;
  causes: MatrixCause[];
}

export interface MatrixStrip {
  package: string;
  device: string;
  loader: string | null;
  signatures: string[];
  releases: ({ release: string; target: string } & MatrixOutcome)[];
  spans: ({ first: string; last: string } & MatrixOutcome)[];
}

/** `tfport matrix --json`. */
export interface Matrix {
  version: 1;
  model: string;
  producer: Producer;
  signatures: string[];
  fetched: Fetched | null;
  strips: MatrixStrip[];
  /** In the API and in static pages. */
  details?: MatrixDetail[];
}

export interface Finding {
  code: string;
  name: string;
  severity: "error" | "warning" | "note";
  stage: Stage;
  op: string | null;
  node: string | null;
  function: string | null;
  count: number;
  nodes: { node: string; function: string | null }[];
  signatures: string[];
  attr: string | null;
  message: string;
  tensorflow_says: string | null;
  cause: string | null;
  doubt: string | null;
  fixes: string[];
  /** Every node that it concerns, in the API and in static pages. */
  all_nodes?: NodeAddress[];
}

export interface CheckResult {
  target: string;
  device: string;
  loaders: string[];
  verdict: Verdict;
  stage: Stage;
  notes: string[];
  findings: Finding[];
}

/** `tfport check --json`. */
export interface CheckReport {
  version: 1;
  model: string;
  producer: Producer;
  signatures: string[];
  fetched: Fetched | null;
  verdict: Verdict;
  results: CheckResult[];
}

/** Something that a model could do. */
export interface Risk {
  code: string;
  name: string;
  severity: Finding["severity"];
  message: string;
  when: string;
  why: string | null;
  op: string | null;
  count: number;
  nodes: { node: string; function: string | null }[];
  subject: string | null;
  own_runtime: string | null;
  /** Every node that it concerns. */
  all_nodes: NodeAddress[];
}

/** `tfport scan --json`, with all nodes. */
export interface ScanReport {
  version: 1;
  model: string;
  format: string;
  nodes: number;
  severity: Finding["severity"] | null;
  risks: Risk[];
}

export interface OutputDifference {
  dtype: string;
  alike: boolean;
  trials: number;
  elements: number;
  unequal: number;
  beyond: number;
  absolute: number | null;
  relative: number | null;
  ulps: number | null;
  problem: string | null;
  judged_as: string | null;
  rtol: number | null;
  atol: number | null;
  worst: { trial: string; index: number[]; answer: unknown; expected: unknown; excess: number | null } | null;
}

export interface CertificateRule {
  name: string;
  keeps: "exact" | "rounding" | "lossy";
  count: number;
  nodes: string[];
  /** What it does: in the report of `fix`. */
  says?: string;
  /** The same in a certificate. */
  doc?: string;
}

/** The certificate of a rewrite, `OUT.certificate.json`. */
export interface Certificate {
  version: 1;
  tfport: string;
  verdict: string;
  statement: string;
  target: string;
  made: Record<string, unknown>;
  target_runs: { ran: boolean; statement: string; runs: number; crashes: number };
  input: { path: string; sha256: string; files: Record<string, string>; tags: string[] };
  output: { path: string; sha256: string; files: Record<string, string> };
  sha256: string;
  keeps: string;
  rules: CertificateRule[];
  changes: { node: string; op: string; rules: string[]; function?: string; after?: Counts }[];
  signatures: string[];
  tolerance: { rtol: number | null; atol: number | null };
  narrowest: Record<string, Record<string, { type: string; node: string }>>;
  trials: {
    signature: string;
    name: string;
    origin: string;
    finite: boolean;
    original: string;
    why: string;
    seed: string | null;
    inputs: { name: string; dtype: string; shape: number[]; sha256: string }[];
  }[];
  settings: Record<string, unknown>;
  runners: { name: string; runs: number; crashes: number; [key: string]: unknown }[];
  comparisons: {
    signature: string;
    runner: string;
    reference: string;
    verdict: string;
    runs: number;
    answered: number;
    refused: number;
    only_rewritten_answers: string[];
    only_rewritten_refuses: { trial: string; why: string }[];
    /** Outputs that are random, and so not compared. */
    random: string[];
    stopped: string | null;
    failed: string[] | null;
    outputs: Record<string, OutputDifference>;
    not_finite: Record<string, OutputDifference>;
  }[];
  caveats: string[];
  not_asked: { runner: string; why: string }[];
  left_out: string[];
}

/** `tfport fix --json`. */
export interface FixReport {
  version: 1;
  model: string;
  target: string;
  verdict: "fixed" | "remains" | "differs" | "not compared";
  form: string;
  rules: CertificateRule[];
  remaining: string[];
  certificate: Certificate | null;
  output: string | null;
}

export interface FixResult {
  result: FixReport;
  certificate: Certificate | null;
  /** Null if nothing was written. */
  rewritten: ModelEntry | null;
  /** The nodes of the original that rules changed. */
  changes: { graph: string; node: string; op: string; rules: string[]; after: Counts | null }[];
}

export interface OutputValue {
  dtype: string;
  shape: number[];
  value: unknown;
}

/** `tfport run --json`, and how long it took. */
export interface RunResult {
  version: 1;
  model: string;
  signature: string;
  outputs: Record<string, OutputValue>;
  /** Of the first call alone, after the model was loaded. */
  seconds: number;
  /** Of each call, if it was repeated. */
  all_seconds?: number[];
}

export interface OpTime {
  op: string;
  calls: number;
  ms: number;
}

/** `tfport bench --profile --json` for one batch, with the nodes of the graph. */
export interface Profile {
  version: 1;
  model: string;
  signature: string;
  batch: number;
  runs: number;
  latency_ms: number;
  processor_ms: number;
  threads: number;
  threads_busy: number;
  parts_ms: { islands: number; host: number; copies: number; other: number };
  islands: {
    inside: string | null;
    ops: Counts;
    onnx_nodes: number;
    calls: number;
    ms: number;
    copies_ms: number;
    engine_ops: OpTime[];
  }[];
  host: OpTime[];
  on_host_despite_lowering: { node: string; op: string; inside: string | null; reason: string }[];
  passes: { pass: string; what: string; when: string; graphs: number; removed: number; added: number }[];
  /** Where each node of the graph ran; a node that was folded into another has no time of its own. */
  nodes: ProfiledNode[];
}

export interface ProfiledNode {
  graph: string;
  node: string;
  op: string;
  ms: number;
  calls: number;
  /** The index of an island, `"host"`, or `"folded"`: computed before the run. */
  where: number | "host" | "folded";
  /** Why it is not in an island. */
  reason: string | null;
}

export interface ReleaseSpan {
  first: string;
  last: string;
}

/** One op of `tfport ops --json`. */
export interface OpHistory {
  name: string;
  since: string | null;
  until: string | null;
  definition: {
    inputs: { name: string; type: string }[];
    outputs: { name: string; type: string }[];
    attrs: { name: string; type: string; default?: unknown; allowed?: unknown; minimum?: number }[];
    flags: string[];
    deprecated: { graph_def: number; why: string } | null;
  };
  type_attr: string | null;
  providers: {
    package: string;
    library: string | null;
    releases: ReleaseSpan[];
    changes: { release: string; changes: string[] }[];
    kernels: { device: string; types: string[] | null; label: string | null; releases: ReleaseSpan[] }[];
  }[];
  kernels_missing: ReleaseSpan[];
  later: string[];
}

/** `tfport ops NAME --json`. */
export interface OpsReport {
  version: 1;
  ops: OpHistory[];
  lite: Record<string, unknown>[];
  unknown: Record<string, string[]>;
}

export interface Cause {
  means: string;
  named: boolean;
  evidence: string[];
  check: string | null;
  ways_out: string[];
}

export interface Explanation {
  name: string;
  code: string | null;
  kind: string;
  quote: string;
  count: number;
  names: Record<string, string>;
  means: string[];
  causes: Cause[];
  ways_out: string[];
  on_target: string[];
  model: {
    count: number;
    examples: { node: string; op: string; function: string | null; signatures: string[]; loading: boolean }[];
    foretold: string[];
  } | null;
}

/** `tfport explain --json`, of a text. */
export interface Explained {
  version: 1;
  target: string | null;
  model: string | null;
  explanations: Explanation[];
  more: number;
  cut: boolean;
  nearest: string | null;
  out_of_scope: string | null;
  clues: string[];
}

/** `tfport explain --json`, of codes such as TFP101. */
export interface CodePages {
  version: 1;
  codes: { code: string; name: string; title: string; severity: string; sections: Record<string, string> }[];
}

/** `tfport audit --json`, version 1. */
export interface AuditReport {
  version: 1;
  stores: string[];
  complete: boolean;
  models: number;
  bytes: number;
  tried_fix: boolean;
  targets: {
    target: string;
    runs: number;
    fails_at_load: number;
    fails_at_run: number;
    unknown: number;
    rewritten: number;
    remains: number;
    not_tried: number;
  }[];
  upgrade: {
    before: string;
    after: string;
    keeps_running: number;
    breaks: number;
    rewritten: number;
    needs_person: number;
    starts_running: number;
    runs_on_neither: number;
    undecided: number;
    people: { path: string; why: string }[];
  } | null;
  causes: {
    target: string;
    code: string;
    subject: string;
    models: number;
    alone: number;
    rewritten: number;
    message: string;
    examples: string[];
  }[];
  risks: { code: string; severity: string; models: number; example: string; message: string }[];
  group_by: string | null;
  groups: { group: string; models: number; unread: number; fails: Record<string, number> }[];
  signature_changes: { name: string; before: string; after: string; changes: string[] }[];
  not_read: { path: string; status: string; error: string }[];
  new_problems: { path: string; target: string; before: string | null; verdict: string; causes: string[] }[];
}
