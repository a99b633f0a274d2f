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
  ModelDifference,
  ModelEntry,
  NodeDetails,
  PathEntry,
  SearchResult,
  TargetSuggestion,
  TensorPeek,
  WeightRow,
} from "./types";

const API = "/api/v1";
const NO_SERVER = "The server is not answering; is `tfport ui` still running?";

/** The token in the address, `#token=…`, or in a text that has one; the address of the page then has no token. */
export function takeToken(): string | null {
  const match = /^#token=([\w-]+)&?(.*)$/.exec(location.hash);
  if (!match?.[1]) return null;
  history.replaceState(null, "", `${location.pathname}#${match[2] || "/"}`);
  return match[1];
}

/** The token in what a user pastes: the printed address, or the token alone. */
export function tokenIn(text: string): string {
  return /#token=([\w-]+)/.exec(text)?.[1] ?? text.trim();
}

/** Part of a path: everything that has a meaning in an address is escaped. */
const part = encodeURIComponent;

export class HttpSource implements Source {
  readonly isStatic = false;

  /** Settled once the token of the address was exchanged for the cookie. */
  private ready: Promise<unknown> = Promise.resolve();

  /** `onLocked` is told when the server wants the token. */
  constructor(token: string | null, private readonly onLocked: () => void) {
    if (token !== null) this.ready = this.logIn(token).catch(() => undefined);
  }

  /** Exchange the token for a cookie that scripts cannot read. */
  async logIn(token: string): Promise<void> {
    const answer = await fetch(`${API}/login`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    if (!answer.ok) throw new ApiError(await sentenceOf(answer), answer.status);
  }

  tabs(): readonly string[] {
    return ["overview", "graph", "ops", "tensors", "verdicts", "fix", "profile"];
  }

  async models(): Promise<ModelEntry[]> {
    return (await this.get<{ models: ModelEntry[] }>("/models")).models;
  }

  async examples(): Promise<ModelEntry[]> {
    return (await this.get<{ models: ModelEntry[] }>("/examples")).models;
  }

  open(what: { path: string } | { upload: string } | { model: string }): Promise<ModelEntry> {
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

  async tensors(model: string): Promise<WeightRow[]> {
    return (await this.get<{ tensors: WeightRow[] }>(`/models/${part(model)}/tensors`)).tensors;
  }

  async npy(model: string, key: string): Promise<Blob> {
    return (await this.send("GET", `/models/${part(model)}/tensor.npy?key=${part(key)}`)).blob();
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

  async targets(prefix: string, model: string): Promise<TargetSuggestion[]> {
    return (await this.get<{ targets: TargetSuggestion[] }>(`/targets?prefix=${part(prefix)}&model=${part(model)}`)).targets;
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

  compare(a: string, b: string): Promise<ModelDifference> {
    return this.post("/compare", { a, b });
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
    await this.ready;
    const headers: Record<string, string> = {};
    if (typeof body === "string") headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(API + path, { method, headers, body, cache: "no-store" });
    } catch {
      throw new ApiError(NO_SERVER, 0);
    }
    if (response.status === 401) this.onLocked();
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
