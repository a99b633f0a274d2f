/** The tabs of a model. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Request } from "../components/states";
import { Fix } from "../views/fix/fix";
import { GraphTab } from "../views/graph/graph_tab";
import { Ops } from "../views/ops/ops";
import { Overview } from "../views/overview/overview";
import { ProfileTab } from "../views/profile/profile";
import { Tensors } from "../views/tensors/tensors";
import { Verdicts } from "../views/verdicts/verdicts";
import { modelAddress, TABS, type Tab } from "./router";
import { sessionOf, type ModelSession } from "./session";
import { source } from "./source";

const TITLES: Record<Tab, string> = {
  overview: "Overview",
  graph: "Graph",
  ops: "Ops",
  tensors: "Tensors",
  verdicts: "Verdicts",
  fix: "Fix",
  profile: "Profile",
};

interface ModelPageProps {
  model: string;
  tab: Tab;
  query: URLSearchParams;
}

export function ModelPage({ model, tab, query }: ModelPageProps): JSX.Element {
  const session = sessionOf(model);
  const View = VIEWS[tab];
  return (
    <>
      <TabBar model={model} current={tab} />
      <main id="main" class={`page ${tab === "graph" ? "filled" : ""}`} tabIndex={-1} aria-label={TITLES[tab]}>
        <Request ask={session.entry} keys={[model]} what="Opening the model">
          {() => <View session={session} query={query} />}
        </Request>
      </main>
    </>
  );
}

/** What each view of a model gets. */
export interface ViewProps {
  session: ModelSession;
  query: URLSearchParams;
}

const VIEWS: Record<Tab, (props: ViewProps) => JSX.Element> = {
  overview: Overview,
  graph: GraphTab,
  ops: Ops,
  tensors: Tensors,
  verdicts: Verdicts,
  fix: Fix,
  profile: ProfileTab,
};

function TabBar({ model, current }: { model: string; current: Tab }): JSX.Element {
  const present = TABS.filter((tab) => source.tabs().includes(tab));
  const bar = useRef<HTMLElement>(null);
  useEffect(() => bar.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [current]);
  return (
    <nav class="tabs" aria-label="Views of the model" ref={bar}>
      {present.map((tab, index) => (
        <a key={tab} href={modelAddress(model, tab)} aria-current={tab === current ? "page" : undefined} title={`${TITLES[tab]} (${index + 1})`}>
          {TITLES[tab]}
        </a>
      ))}
    </nav>
  );
}
