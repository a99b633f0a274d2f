/** The one place where failed actions are told: a sentence, never a stack. */

import { Signal } from "./signal";

export const notice = new Signal<string | null>(null);

/** Show why an action failed; canceled ones need no word. */
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  notice.value = sentenceOf(error);
}

/** The sentence of an error. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : "Something failed without saying why.";
}
