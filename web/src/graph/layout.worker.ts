/** The worker that lays out scopes, so that the page stays responsive. */
import { layoutAll } from "./layout/layered";
import type { LayoutProblem, LayoutResult, PlacedSize } from "./layout/problem";

export interface LayoutRequest {
  id: number;
  problems: (LayoutProblem | PlacedSize)[];
}

/** The results, or why there are none. */
export type LayoutAnswer = { id: number; results: (LayoutResult | null)[] } | { id: number; error: string };

const scope = self as unknown as DedicatedWorkerGlobalScope;
scope.onmessage = (event: MessageEvent<LayoutRequest>) => {
  scope.postMessage(answerTo(event.data));
};

function answerTo({ id, problems }: LayoutRequest): LayoutAnswer {
  try {
    return { id, results: layoutAll(problems) };
  } catch (error) {
    return { id, error: String(error) };
  }
}
