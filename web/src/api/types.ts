/** The documents of the API: models, graphs, nodes, jobs. Those that commands print are in `reports`. */

export interface ModelEntry {
  id: string;
  path: string;
  name: string;
  /** The key of the format: `saved_model`, `graph_def`, `keras_h5`, `lite`; empty until it was opened. */
  kind: string;
  bytes: number;
  opened: boolean;
  example: boolean;
}

export type GraphKind = "graph" | "function" | "branch" | "loop" | "subgraph" | "layers";

/** A graph of a model; the first one of the list is the one to show first. */
export interface GraphSummary {
  id: string;
  /** The name of the function, subgraph or model, as findings and certificates state it. */
  name: string;
  kind: GraphKind;
  nodes: number;
  /** How many nodes of other graphs call it. */
  callers: number;
  signatures: string[];
}

/** A graph by columns: node `i` is named `names[i]`, edge `j` goes from `source[j]` to `target[j]`. */
export interface GraphData {
  version: 1;
  id: string;
  name: string;
  kind: GraphKind;
  names: string[];
  ops: string[];
  op: number[];
  role: Role[];
  source: number[];
  source_output: number[];
  target: number[];
  target_input: number[];
  types: string[];
  edge_type: number[];
  control_source: number[];
  control_target: number[];
  calls: GraphCall[];
  /** The nodes that stand for what a caller passes, and for what it gets, in order. */
  arguments?: number[];
  results?: number[];
  /** For a main graph: what its nodes are for. A node of several signatures is in each. */
  parts?: GraphPart[];
  /** In a page without a server: `texts[nodes[i][k]]` is the `k`th attribute of node `i`, as `name=value`. */
  attributes?: { texts: string[]; nodes: number[][] };
}

/** A node that calls graphs: its inputs from `first_input` on are their arguments, if that is not null. */
export interface GraphCall {
  node: number;
  graphs: string[];
  first_input?: number | null;
  /** The graphs whose results are the outputs of the node. */
  results?: string[];
}

export interface GraphPart {
  /** `rest`: training, and nodes that nothing uses. */
  kind: "signature" | "loading" | "saving" | "rest";
  /** Of a signature; empty for outputs that were guessed, as the graph has no signatures. */
  name: string;
  nodes: number[];
}

export const enum Role {
  Op = 0,
  Constant = 1,
  Variable = 2,
  Input = 3,
  Output = 4,
  Call = 5,
}

export interface NodeAddress {
  graph: string;
  node: string;
}

/** One end of an edge of a node: which tensor it is, and who is at the other end. */
export interface NodeEdge {
  /** The argument in the definition of the op; empty if the op is not defined. */
  argument: string;
  node: string;
  /** The index among the outputs of the node that computes it. */
  index: number;
  /** `float32 [?, 224, 224, 3]`. */
  type: string;
}

export interface NodeDetails {
  version: 1;
  graph: string;
  node: string;
  op: string;
  device: string;
  role: Role;
  attributes: { name: string; value: string; default: boolean }[];
  inputs: NodeEdge[];
  controls: string[];
  outputs: { argument: string; index: number; type: string; readers: string[]; more: number }[];
  control_readers: string[];
  /** The graphs that it calls: bodies, branches, functions. */
  calls: { attribute: string; graph: string; name: string }[];
  /** The value of a constant. */
  value: TensorPeek | null;
  /** The variable or checkpoint tensor behind it, for `GET tensor?key=`. */
  tensor: string | null;
  /** The weights of a layer of Keras. */
  tensors?: string[];
  since: string | null;
  until: string | null;
  /** The node in the notation of tfport. */
  text: string;
}

/** A weight of a model of any format. */
export interface WeightRow {
  key: string;
  dtype: string;
  shape: number[];
  bytes: number;
}

/** Statistics of a tensor, and its first elements. */
export interface TensorPeek {
  dtype: string;
  shape: number[];
  elements: number;
  bytes: number;
  /** Null if the values were not read, which `note` explains. */
  statistics: TensorStatistics | null;
  /** The first elements in order: numbers, texts, `{"b64": …}`; NaN and infinities as texts. */
  values: PeekValue[];
  /** Where something was not read, or only a part. */
  note: string;
}

export type PeekValue = number | string | boolean | { b64: string } | [PeekValue, PeekValue];

export interface TensorStatistics {
  minimum: number | null;
  maximum: number | null;
  mean: number | null;
  deviation: number | null;
  zeros: number;
  not_finite: number;
  nan: number;
  /** Counts of values in bins of equal width between the minimum and the maximum; empty if there are none. */
  histogram: number[];
  /** For strings: the number of different ones. */
  distinct: number | null;
}

export interface AssetPeek {
  version: 1;
  file: string;
  bytes: number;
  /** Null for a file that is not text. */
  lines: string[] | null;
  /** Whether there are lines after these. */
  more: boolean;
}

export interface SearchResult {
  version: 1;
  total: number;
  matches: NodeAddress[];
}

export interface PathEntry {
  path: string;
  folder: boolean;
  /** The title of its format, if it looks like a model. */
  model: string | null;
}

export interface TargetSuggestion {
  requirement: string;
  kind: string;
  note: string;
}

export interface Job<T> {
  version: 1;
  id: string;
  kind: "run" | "fix" | "profile";
  model: string;
  state: "running" | "done" | "failed" | "canceled";
  stage: string;
  fraction: number | null;
  seconds: number;
  result: T | null;
  error: string | null;
}

/** Something that only one of two models has, or that differs. */
export interface PartDifference {
  kind: "added" | "gone" | "changed" | "renamed";
  name: string;
  what: string;
}

/** What differs between two models: `tfport diff --json`. */
export interface ModelDifference {
  version: 1;
  a: string;
  b: string;
  /** Whether only names differ. */
  equal: boolean;
  metadata: PartDifference[];
  signatures: PartDifference[];
  ops: PartDifference[];
  functions: PartDifference[];
  /** The main graphs, whose name is null, and functions that both have. */
  graphs: ({ a: string | null; b: string | null } & Omit<GraphDifference, "version">)[];
  weights: { same: number; differences: PartDifference[] };
  not_compared: string | null;
}

/** Nodes of two graphs that differ; matched by structure first, and then by name. */
export interface GraphDifference {
  version: 1;
  added: string[];
  gone: string[];
  changed: { a: string; b: string; what: string[] }[];
  /** How many nodes are equal. */
  same: number;
  /** Equal nodes with another name: a, b. */
  renamed: [string, string][];
}

export interface GraphAddress {
  model: string;
  graph: string;
}
