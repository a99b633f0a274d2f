/** A value that views watch: the whole store of the page is made of these. */

import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
  private readonly watchers = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(value: T) {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const watcher of [...this.watchers]) watcher(value);
  }

  /** Call the watcher with each new value; the result ends that. */
  watch(watcher: (value: T) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

/** The value of a signal; the component renders again when it changes. */
export function useSignal<T>(signal: Signal<T>): T {
  const [, setVersion] = useState(0);
  useEffect(() => signal.watch(() => setVersion((version) => version + 1)), [signal]);
  return signal.value;
}
