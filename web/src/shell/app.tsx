/** The frame around every view: header, tabs, messages, keyboard. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../components/states";
import { Audit } from "../views/audit/audit";
import { Compare } from "../views/compare/compare";
import { Explain } from "../views/explain/explain";
import { Landing } from "../views/landing/landing";
import { Header } from "./header";
import { Help } from "./help";
import { useKeys } from "./keys";
import { ModelPage } from "./model_page";
import { NoticeBar } from "./notice_bar";
import { notice } from "./notice";
import { go, modelAddress, useRoute, type Route, type Tab } from "./router";
import { useTitle } from "./title";
import { embedded, locked } from "./source";
import { useSignal } from "./signal";
import { TokenForm } from "./token_form";

export function App(): JSX.Element {
  const route = useRoute();
  const [helps, setHelps] = useState(false);
  const isLocked = useSignal(locked);
  useTitle(route);
  useKeys({ onHelp: () => setHelps(true) });
  useEffect(() => {
    notice.value = null;
    if (embedded && !embedded.documents.audit && route.view !== "model") {
      go(modelAddress(embedded.documents.model.id, embedded.documents.view as Tab), true);
    }
  }, [route.view]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <Header route={isLocked ? { view: "landing" } : route} onHelp={() => setHelps(true)} />
      <NoticeBar />
      {isLocked ? <TokenForm /> : <View route={route} />}
      {helps && <Help onClose={() => setHelps(false)} />}
    </>
  );
}

function View({ route }: { route: Route }): JSX.Element {
  if (embedded?.documents.audit) return <Audit audit={embedded.documents.audit} />;
  if (route.view === "model") return <ModelPage key={route.model} {...route} />;
  return (
    <main id="main" class="page" tabIndex={-1}>
      {route.view === "landing" && <Landing />}
      {route.view === "explain" && <Explain />}
      {route.view === "compare" && <Compare query={route.query} />}
      {route.view === "nowhere" && (
        <Problem sentence="There is no such page: the address may come from another version of tfport." />
      )}
    </main>
  );
}

function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
