/** The documents that a static page contains. */

import type { AuditReport, Certificate, CheckReport, Explained, FixReport, FixResult, Inspection, Matrix, OpsReport, Profile } from "./reports";
import type { Source } from "./source";
import { ApiError, NOT_IN_THIS_PAGE } from "./source";
import type { GraphData, GraphSummary, ModelEntry, NodeDetails, SearchResult } from "./types";

/** What a static page embeds; every document may be missing. */
export interface EmbeddedDocuments {
  version: 1;
  /** The tab to show first. */
  view: "overview" | "graph" | "verdicts" | "fix" | "profile" | "audit";
  title: string;
  /** What made the page, and when. */
  made?: { tfport: string; date: string };
  model: ModelEntry & { sha256?: string };
  inspect?: Inspection;
  graphs?: GraphSummary[];
  graph?: Record<string, GraphData>;
  matrix?: Matrix;
  check?: CheckReport;
  /** The certificate of a rewrite. */
  certificate?: Certificate;
  fix?: FixReport;
  profile?: Profile;
  /** The summary of an audit: a page about a store has nothing else. */
  audit?: AuditReport;
}

const ELEMENT = "tfport-data";

/** The documents in the page; null if it comes from a server. */
export function embeddedDocuments(): EmbeddedDocuments | null {
  const text = document.getElementById(ELEMENT)?.textContent;
  return text ? (JSON.parse(text) as EmbeddedDocuments) : null;
}

export class EmbeddedSource implements Source {
  readonly isStatic = true;

  constructor(readonly documents: EmbeddedDocuments) {}

  tabs(): readonly string[] {
    const { inspect, graph, matrix, check, certificate, profile } = this.documents;
    const present: [string, unknown][] = [
      ["overview", inspect],
      ["graph", graph],
      ["ops", inspect],
      ["tensors", inspect],
      ["verdicts", matrix ?? check],
      ["fix", certificate],
      ["profile", profile],
    ];
    return present.filter(([, document]) => document).map(([tab]) => tab);
  }

  models = (): Promise<ModelEntry[]> => Promise.resolve([this.documents.model]);
  examples = (): Promise<ModelEntry[]> => Promise.resolve([]);
  inspect = (): Promise<Inspection> => having(this.documents.inspect);
  graphs = (): Promise<GraphSummary[]> => Promise.resolve(this.documents.graphs ?? []);
  graph = (_model: string, graph: string): Promise<GraphData> => having(this.documents.graph?.[graph]);
  matrix = (): Promise<Matrix> => having(this.documents.matrix);
  check = (): Promise<CheckReport> => having(this.documents.check);

  /** The certificate as the result of a rewrite, so that the same view shows it. */
  fixed(): FixResult | null {
    const { certificate, fix, graphs = [] } = this.documents;
    if (!certificate) return null;
    const ids = new Map(graphs.map(({ name, id }) => [name, id]));
    const changes = certificate.changes.map(({ node, op, rules, function: name, after }) => ({
      graph: name ? (ids.get(name) ?? name) : "main",
      node,
      op,
      rules,
      after: after ?? null,
    }));
    const result = fix ?? {
      version: 1 as const,
      model: certificate.input.path,
      target: certificate.target,
      verdict: "fixed" as const,
      form: "",
      rules: certificate.rules,
      remaining: [],
      certificate,
      output: certificate.output.path,
    };
    return { result, certificate, rewritten: null, changes };
  }

  profile = (): Profile | null => this.documents.profile ?? null;

  open = absent<ModelEntry>;
  forget = absent<void>;
  paths = absent<never>;
  upload = absent<string>;
  node = absent<NodeDetails>;
  search = absent<SearchResult>;
  tensor = absent<never>;
  tensors = absent<never>;
  npy = absent<Blob>;
  asset = absent<never>;
  scan = absent<never>;
  targets = absent<never>;
  op = absent<OpsReport>;
  explain = absent<Explained>;
  difference = absent<never>;
  compare = absent<never>;
  start = absent<never>;
  job = absent<never>;
  cancel = absent<void>;
  download = absent<Blob>;
}

function having<T>(document: T | undefined): Promise<T> {
  return document === undefined ? absent() : Promise.resolve(document);
}

function absent<T>(): Promise<T> {
  return Promise.reject(new ApiError(NOT_IN_THIS_PAGE, 404));
}
