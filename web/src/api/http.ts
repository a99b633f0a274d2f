/** The documents of a running `tfport ui`. */

import type { CheckReport, CodePages, Explained, Inspection, Matrix, OpsReport, ScanReport } from "./reports";
import type { CheckRequest, JobRequest, JobResult, Source } from "./source";
import { ApiError } from "./source";
import type {
  AssetPeek,
  GraphAddress,
  GraphData,
  GraphDifference,
  GraphSummary,
  Job,
  ModelEntry,
  NodeDetails,
  PathEntry,
  SearchResult,
  TargetSuggestion,
  TensorPeek,
} from "./types";

const API = "/api/v1";
const KEPT = "tfport-token";
const NO_SERVER = "The server does not answer; is `tfport ui` still running?";

/** Take the token from the address, `#token=…`, and keep it for this tab; the address then has no token. */
export function takeToken(): string {
  const match = /^#token=([\w-]+)&?(.*)$/.exec(location.hash);
  if (match?.[1]) {
    sessionStorage.setItem(KEPT, match[1]);
    history.replaceState(null, "", `${location.pathname}#${match[2] || "/"}`);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

/** Part of a path: everything that has a meaning in an address is escaped. */
const part = encodeURIComponent;

export class HttpSource implements Source {
  readonly isStatic = false;

  constructor(private readonly token: string) {}

  tabs(): readonly string[] {
    return ["overview", "graph", "ops", "tensors", "verdicts", "fix", "profile"];
  }

  async models(): Promise<ModelEntry[]> {
    return (await this.get<{ models: ModelEntry[] }>("/models")).models;
  }

  async examples(): Promise<ModelEntry[]> {
    return (await this.get<{ models: ModelEntry[] }>("/examples")).models;
  }

  open(what: { path: string } | { upload: string }): Promise<ModelEntry> {
    return this.post("/models", what);
  }

  async forget(model: string): Promise<void> {
    await this.send("DELETE", `/models/${part(model)}`);
  }

  async paths(prefix: string): Promise<PathEntry[]> {
    return (await this.get<{ paths: PathEntry[] }>(`/paths?prefix=${part(prefix)}`)).paths;
  }

  async upload(files: { path: string; file: Blob }[], progress?: (fraction: number) => void): Promise<string> {
    const { upload } = await this.post<{ upload: string }>("/uploads", {});
    const total = files.reduce((sum, { file }) => sum + file.size, 0) || 1;
    let sent = 0;
    for (const { path, file } of files) {
      await this.send("PUT", `/uploads/${part(upload)}/${path.split("/").map(part).join("/")}`, file);
      sent += file.size;
      progress?.(sent / total);
    }
    return upload;
  }

  inspect(model: string): Promise<Inspection> {
    return this.get(`/models/${part(model)}/inspect`);
  }

  async graphs(model: string): Promise<GraphSummary[]> {
    return (await this.get<{ graphs: GraphSummary[] }>(`/models/${part(model)}/graphs`)).graphs;
  }

  graph(model: string, graph: string): Promise<GraphData> {
    return this.get(`/models/${part(model)}/graphs/${part(graph)}`);
  }

  node(model: string, graph: string, name: string): Promise<NodeDetails> {
    return this.get(`/models/${part(model)}/graphs/${part(graph)}/node?name=${part(name)}`);
  }

  search(model: string, query: string): Promise<SearchResult> {
    return this.get(`/models/${part(model)}/search?q=${part(query)}`);
  }

  tensor(model: string, key: string): Promise<TensorPeek> {
    return this.get(`/models/${part(model)}/tensor?key=${part(key)}`);
  }

  asset(model: string, file: string): Promise<AssetPeek> {
    return this.get(`/models/${part(model)}/asset?file=${part(file)}`);
  }

  matrix(model: string): Promise<Matrix> {
    return this.get(`/models/${part(model)}/matrix`);
  }

  scan(model: string): Promise<ScanReport> {
    return this.get(`/models/${part(model)}/scan`);
  }

  check(model: string, request: CheckRequest): Promise<CheckReport> {
    return this.post(`/models/${part(model)}/check`, request);
  }

  async targets(prefix: string): Promise<TargetSuggestion[]> {
    return (await this.get<{ targets: TargetSuggestion[] }>(`/targets?prefix=${part(prefix)}`)).targets;
  }

  op(name: string): Promise<OpsReport> {
    return this.get(`/ops/${part(name)}`);
  }

  explain(text: string): Promise<Explained | CodePages> {
    return this.post("/explain", { text });
  }

  difference(a: GraphAddress, b: GraphAddress): Promise<GraphDifference> {
    return this.post("/diff", { a, b });
  }

  start(model: string, job: JobRequest): Promise<Job<JobResult>> {
    return this.post(`/models/${part(model)}/${job.kind}`, job.request);
  }

  job(id: string): Promise<Job<JobResult>> {
    return this.get(`/jobs/${part(id)}`);
  }

  async cancel(id: string): Promise<void> {
    await this.send("DELETE", `/jobs/${part(id)}`);
  }

  async download(job: string): Promise<Blob> {
    return (await this.send("GET", `/jobs/${part(job)}/download`)).blob();
  }

  private async get<T>(path: string): Promise<T> {
    return (await (await this.send("GET", path)).json()) as T;
  }

  private async post<T>(path: string, body: unknown): Promise<T> {
    return (await (await this.send("POST", path, JSON.stringify(body))).json()) as T;
  }

  private async send(method: string, path: string, body?: string | Blob): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    if (typeof body === "string") headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(API + path, { method, headers, body, cache: "no-store" });
    } catch {
      throw new ApiError(NO_SERVER, 0);
    }
    if (!response.ok) throw new ApiError(await sentenceOf(response), response.status);
    return response;
  }
}

async function sentenceOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // not JSON: something else answered
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}
