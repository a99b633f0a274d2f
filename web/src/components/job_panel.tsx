/** The state of a piece of work: how far it is, why it failed, or what it gave. */

import type { ComponentChildren, JSX } from "preact";
import type { JobState } from "../shell/jobs";
import { ProgressBar } from "./progress";
import { Problem } from "./states";

interface JobPanelProps<T> {
  job: JobState<T>;
  children: (result: T) => ComponentChildren;
}

export function JobPanel<T>({ job, children }: JobPanelProps<T>): JSX.Element | null {
  switch (job.state) {
    case "idle":
      return null;
    case "running":
      return <ProgressBar label={stageText(job)} fraction={job.fraction} />;
    case "failed":
      return <Problem sentence={job.error ?? "It failed without saying why."} />;
    case "canceled":
      return <p class="soft">Canceled.</p>;
    case "done":
      return <>{job.result !== null && children(job.result)}</>;
  }
}

function stageText({ stage, seconds }: JobState<unknown>): string {
  const text = stage || "working";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${seconds >= 1 ? `, ${Math.floor(seconds)} s` : ""}`;
}
