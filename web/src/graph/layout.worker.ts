/** The worker that lays out scopes, so that the page stays responsive. */
import { layoutAll } from "./layout/layered";
import type { LayoutProblem, LayoutResult, PlacedSize } from "./layout/problem";

export interface LayoutRequest {
  id: number;
  problems: (LayoutProblem | PlacedSize)[];
}

export interface LayoutAnswer {
  id: number;
  results: (LayoutResult | null)[];
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
scope.onmessage = (event: MessageEvent<LayoutRequest>) => {
  const { id, problems } = event.data;
  scope.postMessage({ id, results: layoutAll(problems) } satisfies LayoutAnswer);
};
