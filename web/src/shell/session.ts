/** What the page knows about a model while it is open: documents, results of jobs, colors of the graph. */

import type { CheckReport, FixResult, Profile } from "../api/reports";
import type { ModelEntry } from "../api/types";
import type { Overlay } from "../graph/overlay";
import { JobRunner } from "./jobs";
import { embedded, source } from "./source";
import { Signal } from "./signal";

export class ModelSession {
  readonly entry = once(() => this.find());
  readonly inspection = once(() => source.inspect(this.id));
  readonly graphs = once(() => source.graphs(this.id));
  readonly matrix = once(() => source.matrix(this.id));
  readonly scan = once(() => source.scan(this.id));
  readonly graph = onceFor((graph: string) => source.graph(this.id, graph));
  readonly overlay = new Signal<Overlay | null>(null);
  readonly checked = new Signal<CheckReport | null>(embedded?.documents.check ?? null);
  readonly fix: JobRunner<FixResult>;
  readonly profile: JobRunner<Profile>;

  constructor(readonly id: string) {
    this.fix = new JobRunner(id, embedded?.fixed() ?? null);
    this.profile = new JobRunner(id, embedded?.profile() ?? null);
  }

  /** Forget documents whose request failed, so that they are asked for again. */
  retry(): void {
    for (const document of [this.entry, this.inspection, this.graphs, this.matrix, this.scan]) document.forget();
  }

  private async find(): Promise<ModelEntry> {
    const entry = (await source.models()).find(({ id }) => id === this.id);
    if (entry && (entry.opened || source.isStatic)) return entry;
    if (entry) return source.open({ model: entry.id });
    const example = (await source.examples()).find(({ id }) => id === this.id);
    if (example) return source.open({ path: example.path });
    throw new Error("This address names a model that is not open here; open it again by its path.");
  }
}

const sessions = new Map<string, ModelSession>();

/** The session of a model; the same as long as the page is open. */
export function sessionOf(model: string): ModelSession {
  let session = sessions.get(model);
  if (!session) sessions.set(model, (session = new ModelSession(model)));
  return session;
}

interface Once<T> {
  (): Promise<T>;
  forget(): void;
}

/** Ask once, and remember the answer; a failure is not remembered. */
function once<T>(ask: () => Promise<T>): Once<T> {
  let answer: Promise<T> | null = null;
  const get = () => {
    if (!answer) {
      answer = ask();
      answer.catch(() => (answer = null));
    }
    return answer;
  };
  return Object.assign(get, { forget: () => void (answer = null) });
}

function onceFor<T>(ask: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const answers = new Map<string, Once<T>>();
  return (key) => {
    let answer = answers.get(key);
    if (!answer) answers.set(key, (answer = once(() => ask(key))));
    return answer();
  };
}
