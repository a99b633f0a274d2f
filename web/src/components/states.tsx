/** What a view shows before, instead of and without its data. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { sentenceOf } from "../shell/notice";
import { Sentence } from "./text";

type Loaded<T> = { state: "loading" } | { state: "failed"; sentence: string } | { state: "ready"; value: T };

/** The outcome of a request, asked again when one of the keys changes. */
export function useRequest<T>(ask: () => Promise<T>, keys: readonly unknown[]): Loaded<T> & { again: () => void } {
  const [attempt, setAttempt] = useState(0);
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  useEffect(() => {
    let wanted = true;
    setLoaded({ state: "loading" });
    ask().then(
      (value) => wanted && setLoaded({ state: "ready", value }),
      (error: unknown) => wanted && setLoaded({ state: "failed", sentence: sentenceOf(error) }),
    );
    return () => {
      wanted = false;
    };
  }, [...keys, attempt]);
  return { ...loaded, again: () => setAttempt((number) => number + 1) };
}

interface RequestProps<T> {
  ask: () => Promise<T>;
  keys: readonly unknown[];
  what: string;
  children: (value: T) => ComponentChildren;
}

/** The children once the request has answered; until then a note, and tfport's sentence if it failed. */
export function Request<T>({ ask, keys, what, children }: RequestProps<T>): JSX.Element {
  const request = useRequest(ask, keys);
  if (request.state === "loading") return <Loading what={what} />;
  if (request.state === "failed") return <Problem sentence={request.sentence} onRetry={request.again} />;
  return <>{children(request.value)}</>;
}

/** A quiet note that something is under way. */
export function Loading({ what }: { what: string }): JSX.Element {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {what} …
    </p>
  );
}

/** Why there is nothing to see, in tfport's words. */
export function Problem({ sentence, onRetry }: { sentence: string; onRetry?: () => void }): JSX.Element {
  return (
    <div class="problem" role="alert">
      <p>
        <span class="glyph bad" aria-hidden="true">✕</span> <Sentence text={sentence} />
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What a view says when the model has nothing of the kind. */
export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}
