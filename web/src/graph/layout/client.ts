/** The page's side of the layout worker. */
import type { LayoutAnswer, LayoutRequest } from "../layout.worker";
import type { Solver } from "../scene/arrange";
import type { LayoutResult } from "./problem";

/** The source of the worker; the build puts it here, so that a page of one file has it as well. */
declare const LAYOUT_WORKER: string;

/** A worker, started at once so that it is ready when the first scope is, and a way to end it. */
export function layoutWorker(): { solve: Solver; end: () => void } {
  let next = 0;
  const waiting = new Map<number, (results: (LayoutResult | null)[]) => void>();
  const address = URL.createObjectURL(new Blob([LAYOUT_WORKER], { type: "text/javascript" }));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  worker.onmessage = (event: MessageEvent<LayoutAnswer>) => {
    waiting.get(event.data.id)?.(event.data.results);
    waiting.delete(event.data.id);
  };
  return {
    solve: (problems) =>
      new Promise((resolve) => {
        const id = next++;
        waiting.set(id, resolve);
        worker.postMessage({ id, problems } satisfies LayoutRequest);
      }),
    end: () => worker.terminate(),
  };
}
