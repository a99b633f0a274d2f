/** The title of the browser's tab: the model and the view. */

import { useEffect } from "preact/hooks";
import { modelTitle } from "../components/format";
import { printable } from "../components/text";
import type { Route } from "./router";
import { sessionOf } from "./session";
import { source } from "./source";

const LONGEST = 80;

export function useTitle(route: Route): void {
  const key = route.view === "model" ? `${route.model} ${route.tab}` : route.view === "compare" ? `${route.query.get("a")} ${route.query.get("b")}` : route.view;
  useEffect(() => {
    if (source.isStatic) return;
    let wanted = true;
    void titleOf(route).then((title) => wanted && (document.title = title));
    return () => {
      wanted = false;
    };
  }, [key]);
}

async function titleOf(route: Route): Promise<string> {
  if (route.view === "explain") return "Explain a log – tfport";
  if (route.view === "compare") {
    const names = await Promise.all(["a", "b"].map((side) => nameOf(route.query.get(side) ?? "")));
    return names.every(Boolean) ? `${names.join(" and ")} – tfport` : "Compare – tfport";
  }
  if (route.view !== "model") return "tfport";
  const name = await nameOf(route.model);
  return name ? `${name} · ${route.tab} – tfport` : "tfport";
}

async function nameOf(model: string): Promise<string> {
  if (!model) return "";
  try {
    return printable(modelTitle(await sessionOf(model).entry())).slice(0, LONGEST);
  } catch {
    return "";
  }
}
