/** The page's side of the layout worker. A worker that fails is replaced, and those who wait are told. */
import type { LayoutAnswer, LayoutRequest } from "../layout.worker";
import type { Solver } from "../scene/arrange";
import type { LayoutResult } from "./problem";

/** The source of the worker; the build puts it here, so that a page of one file has it as well. */
declare const LAYOUT_WORKER: string;

const CANNOT_START = "The graph cannot be drawn: the browser did not start the layout worker. Allow workers from blob: addresses for this page, or open it in another browser.";
const STOPPED = "The boxes could not be placed: the layout worker stopped. Open fewer boxes at once, or reload the page.";

interface Waiting {
  resolve: (results: (LayoutResult | null)[]) => void;
  reject: (error: Error) => void;
}

/** A worker, started at once so that it is ready when the first scope is, and a way to end it. */
export function layoutWorker(): { solve: Solver; end: () => void } {
  const waiting = new Map<number, Waiting>();
  let next = 0;
  let answered = false;
  let worker: Worker | null = null;
  const fail = (sentence: string) => {
    worker?.terminate();
    worker = null;
    for (const { reject } of waiting.values()) reject(new Error(sentence));
    waiting.clear();
  };
  const start = () => {
    try {
      worker = startWorker();
    } catch {
      return;
    }
    worker.onmessage = ({ data }: MessageEvent<LayoutAnswer>) => {
      answered = true;
      const asker = waiting.get(data.id);
      waiting.delete(data.id);
      if ("results" in data) asker?.resolve(data.results);
      else asker?.reject(new Error(`${STOPPED} (${data.error})`));
    };
    worker.onerror = worker.onmessageerror = () => fail(answered ? STOPPED : CANNOT_START);
  };
  start();
  return {
    solve: (problems) =>
      new Promise((resolve, reject) => {
        if (!worker) start();
        if (!worker) return reject(new Error(CANNOT_START));
        const id = next++;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, problems } satisfies LayoutRequest);
      }),
    end: () => worker?.terminate(),
  };
}

function startWorker(): Worker {
  const address = URL.createObjectURL(new Blob([LAYOUT_WORKER], { type: "text/javascript" }));
  try {
    return new Worker(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}
