/** A long piece of work on the server: start, follow, cancel. It goes on while the user looks elsewhere. */

import type { JobRequest, JobResult } from "../api/source";
import type { Job } from "../api/types";
import { sentenceOf } from "./notice";
import { source } from "./source";
import { Signal } from "./signal";

const POLL_MS = 250;

export interface JobState<T> {
  state: "idle" | "running" | "done" | "failed" | "canceled";
  id: string | null;
  stage: string;
  fraction: number | null;
  seconds: number;
  result: T | null;
  error: string | null;
}

const IDLE = { state: "idle", id: null, stage: "", fraction: null, seconds: 0, result: null, error: null } as const;

export class JobRunner<T extends JobResult> {
  readonly state: Signal<JobState<T>>;

  constructor(
    private readonly model: string,
    result: T | null = null,
  ) {
    this.state = new Signal<JobState<T>>(result ? { ...IDLE, state: "done", result } : IDLE);
  }

  /** Start the work; a request while it runs is ignored. Ends when the work has ended. */
  async start(request: JobRequest): Promise<void> {
    if (this.state.value.state === "running") return;
    this.state.value = { ...IDLE, state: "running", stage: "starting" };
    try {
      let job = (await source.start(this.model, request)) as Job<T>;
      while (job.state === "running") {
        this.state.value = { ...job, error: null, result: null };
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        job = (await source.job(job.id)) as Job<T>;
      }
      this.state.value = job;
    } catch (error) {
      this.state.value = { ...IDLE, state: "failed", error: sentenceOf(error) };
    }
  }

  async cancel(): Promise<void> {
    const { id, state } = this.state.value;
    if (id && state === "running") await source.cancel(id);
  }
}
