/** Where the documents come from: a server, or the page itself. */

import type {
  CheckReport,
  CodePages,
  Explained,
  FixResult,
  Inspection,
  Matrix,
  OpsReport,
  Profile,
  RunResult,
  ScanReport,
} from "./reports";
import type {
  AssetPeek,
  GraphAddress,
  GraphData,
  GraphDifference,
  GraphSummary,
  Job,
  ModelDifference,
  ModelEntry,
  NodeDetails,
  PathEntry,
  SearchResult,
  TargetSuggestion,
  TensorPeek,
  WeightRow,
} from "./types";

/** A sentence for the user: why there is no answer. `status` is that of HTTP, 0 without a connection. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Throw this sentence where a static page lacks a document. */
export const NOT_IN_THIS_PAGE = "This page is a static file without that data; open the model with `tfport ui`.";

export interface CheckRequest {
  targets: string[];
  device?: "cpu" | "gpu";
  signature?: string[];
}

export interface RunRequest {
  signature: string;
  /** By input name: JSON values as in TensorFlow Serving, `{b64}`, `{npy}` or `{image}` in base 64. */
  inputs: Record<string, unknown>;
  /** How often to run it, to time it; once by default. */
  repeat?: number;
}

export interface FixRequest {
  target: string;
  allow_lossy?: boolean;
  prove?: boolean;
}

export interface ProfileRequest {
  signature?: string;
  batch?: number;
}

export type JobRequest =
  | { kind: "run"; request: RunRequest }
  | { kind: "fix"; request: FixRequest }
  | { kind: "profile"; request: ProfileRequest };

export type JobResult = RunResult | FixResult | Profile;

/** All data access of the page. */
export interface Source {
  /** Whether the page is a file: no forms, no jobs. */
  readonly isStatic: boolean;
  /** The tabs of a model for which there are documents. */
  tabs(): readonly string[];

  models(): Promise<ModelEntry[]>;
  examples(): Promise<ModelEntry[]>;
  open(what: { path: string } | { upload: string } | { model: string }): Promise<ModelEntry>;
  forget(model: string): Promise<void>;
  paths(prefix: string): Promise<PathEntry[]>;
  /** Send files with their paths below the dropped folder; answers the name of the upload. */
  upload(files: { path: string; file: Blob }[], progress?: (fraction: number) => void): Promise<string>;

  inspect(model: string): Promise<Inspection>;
  graphs(model: string): Promise<GraphSummary[]>;
  graph(model: string, graph: string): Promise<GraphData>;
  node(model: string, graph: string, name: string): Promise<NodeDetails>;
  search(model: string, query: string): Promise<SearchResult>;
  tensor(model: string, key: string): Promise<TensorPeek>;
  /** The weights of a model of any format. */
  tensors(model: string): Promise<WeightRow[]>;
  /** A stored tensor as a file of NumPy. */
  npy(model: string, key: string): Promise<Blob>;
  asset(model: string, file: string): Promise<AssetPeek>;

  matrix(model: string): Promise<Matrix>;
  check(model: string, request: CheckRequest): Promise<CheckReport>;
  scan(model: string): Promise<ScanReport>;
  /** Completion of a target that reads the model. */
  targets(prefix: string, model: string): Promise<TargetSuggestion[]>;
  op(name: string): Promise<OpsReport>;
  explain(text: string): Promise<Explained | CodePages>;
  difference(a: GraphAddress, b: GraphAddress): Promise<GraphDifference>;
  /** Two whole models. */
  compare(a: string, b: string): Promise<ModelDifference>;

  start(model: string, job: JobRequest): Promise<Job<JobResult>>;
  job(id: string): Promise<Job<JobResult>>;
  cancel(id: string): Promise<void>;
  /** The zip of a rewritten model, as a Blob to save. */
  download(job: string): Promise<Blob>;
}
