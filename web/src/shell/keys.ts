/** Keys that work everywhere. */

import { useEffect } from "preact/hooks";
import { isTyping } from "../graph/keys";
import { go, modelAddress, parseAddress, TABS } from "./router";
import { source } from "./source";

/** What the keys do, for the help. */
export const KEYS: [keys: string, what: string][] = [
  ["/", "go to the search or filter of the view"],
  ["?", "show this help"],
  ["1 … 7", "go to a tab of the model"],
  ["Esc", "close a panel, a list or this help; clear a search"],
  ["Tab, Shift+Tab", "go to the next or previous control"],
];

/** Keys of the graph, for the help. */
export const GRAPH_KEYS: [keys: string, what: string][] = [
  ["Arrows", "go to the neighboring node, or move the picture"],
  ["Shift+Arrows", "move the picture"],
  ["Enter", "open or close the selected scope"],
  ["F", "center the selected node"],
  ["+ / −", "zoom in or out"],
  ["0", "show the whole graph"],
  ["n / N", "go to the next or previous search result"],
];

export function useKeys({ onHelp }: { onHelp: () => void }): void {
  useEffect(() => {
    const handle = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "?") onHelp();
      else if (event.key === "/") focusSearch();
      else if (/^[1-7]$/.test(event.key)) openTab(Number(event.key));
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", handle);
    return () => removeEventListener("keydown", handle);
  }, []);
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("[data-search], .graph-search");
  field?.focus();
  field?.select();
}

function openTab(number: number): void {
  const route = parseAddress(location.hash);
  const tab = TABS.filter((name) => source.tabs().includes(name))[number - 1];
  if (route.view === "model" && tab) go(modelAddress(route.model, tab));
}
