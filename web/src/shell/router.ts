/** Addresses of the page: everything after the `#`. */

import { useEffect, useState } from "preact/hooks";

export const TABS = ["overview", "graph", "ops", "tensors", "verdicts", "fix", "profile"] as const;
export type Tab = (typeof TABS)[number];

/** Where the page is: a view, and what its address says beside that. */
export type Route =
  | { view: "landing" }
  | { view: "model"; model: string; tab: Tab; query: URLSearchParams }
  | { view: "explain" }
  | { view: "compare"; query: URLSearchParams }
  | { view: "nowhere"; address: string };

/** Read an address such as `#/model/3f2a/graph?node=dense/MatMul`. */
export function parseAddress(hash: string): Route {
  const [path = "", search = ""] = split(hash.replace(/^#?\/?/, ""), "?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  const query = new URLSearchParams(search);
  if (parts.length === 0) return { view: "landing" };
  if (parts[0] === "explain" && parts.length === 1) return { view: "explain" };
  if (parts[0] === "compare" && parts.length === 1) return { view: "compare", query };
  const [, model, tab = "overview"] = parts;
  if (parts[0] === "model" && model && isTab(tab)) return { view: "model", model, tab, query };
  return { view: "nowhere", address: hash };
}

/** The address of a tab of a model. */
export function modelAddress(model: string, tab: Tab = "overview", query: Record<string, string> = {}): string {
  return `#/model/${encodeURIComponent(model)}/${tab}${searchOf(query)}`;
}

/** The address of the comparison of two models. */
export function compareAddress(a: string, b: string): string {
  return `#/compare${searchOf({ a, b })}`;
}

/** Go to an address; `replace` keeps the history as it is. */
export function go(address: string, replace = false): void {
  if (replace && replaced(address)) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

function replaced(address: string): boolean {
  try {
    history.replaceState(null, "", address);
    return true;
  } catch {
    return false; // a page in the cell of a notebook has no history of its own
  }
}

/** Change what the address says beside the view, as it stands now. */
export function changeQuery(change: (query: URLSearchParams) => void, replace = false): void {
  const [path = "", search = ""] = split(location.hash, "?");
  const query = new URLSearchParams(search);
  change(query);
  const text = query.toString();
  const next = text ? `${path}?${text}` : path;
  if (next !== location.hash) go(next, replace);
}

/** Set a parameter, or remove it. */
export function setParameter(query: URLSearchParams, name: string, value: string | null): void {
  if (value === null) query.delete(name);
  else query.set(name, value);
}

/** The current route, kept up to date. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseAddress(location.hash));
  useEffect(() => {
    const update = () => setRoute(parseAddress(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return route;
}

function isTab(name: string): name is Tab {
  return (TABS as readonly string[]).includes(name);
}

function searchOf(query: Record<string, string>): string {
  const search = new URLSearchParams(query).toString();
  return search ? `?${search}` : "";
}

function split(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
