/** The header: the model on the left, what concerns every model on the right. */

import type { JSX } from "preact";
import { bytes, kindTitle, modelTitle } from "../components/format";
import { useRequest } from "../components/states";
import { Name } from "../components/text";
import type { Route } from "./router";
import { sessionOf } from "./session";
import { useSignal } from "./signal";
import { embedded, source } from "./source";
import { nextTheme, themeChoice } from "./theme";

const THEME_GLYPHS = { system: "◐", light: "☀", dark: "☾" };

export function Header({ route, onHelp }: { route: Route; onHelp: () => void }): JSX.Element {
  const theme = useSignal(themeChoice);
  return (
    <header class="top">
      {source.isStatic ? <span class="brand">tfport</span> : <a class="brand" href="#/">tfport</a>}
      {route.view === "model" ? <ModelTitle key={route.model} model={route.model} /> : <span class="model-title" />}
      <nav class="tools" aria-label="Tools">
        {!source.isStatic && <ToolLinks route={route} />}
        <button type="button" class="quiet" onClick={nextTheme} aria-label={`Theme: ${theme}. Switch.`} title={`Theme: ${theme}`}>
          <span aria-hidden="true">{THEME_GLYPHS[theme]}</span>
        </button>
        <button type="button" class="quiet" onClick={onHelp} aria-label="Keys" title="Keys (?)">
          <span aria-hidden="true">?</span>
        </button>
      </nav>
    </header>
  );
}

function ToolLinks({ route }: { route: Route }): JSX.Element {
  const first = route.view === "model" ? `?a=${encodeURIComponent(route.model)}` : "";
  const current = (view: string) => (route.view === view ? "page" : undefined);
  return (
    <>
      <a href="#/explain" aria-current={current("explain")}>
        Explain a log
      </a>
      <a href={`#/compare${first}`} aria-current={current("compare")}>
        Compare
      </a>
    </>
  );
}

function ModelTitle({ model }: { model: string }): JSX.Element {
  const session = sessionOf(model);
  const entry = useRequest(session.entry, [model]);
  const inspection = useRequest(() => session.entry().then(session.inspection), [model]);
  if (entry.state !== "ready") return <span class="model-title" />;
  const { name, path, kind, bytes: size } = entry.value;
  const producer = inspection.state === "ready" ? producerOf(inspection.value.producer) : "";
  return (
    <div class="model-title">
      <h1 title={path}>
        <Name text={modelTitle({ name, path })} longest={120} />
      </h1>
      <p class="model-facts">
        {kind && <span>{kindTitle(kind)}</span>}
        {size > 0 && <span>{bytes(size)}</span>}
        {producer && <span>{producer}</span>}
        {embedded?.documents.made && <Made {...embedded.documents.made} sha256={embedded.documents.model.sha256 ?? ""} />}
      </p>
    </div>
  );
}

/** What made a page that is a file, when, and of which model. */
function Made({ tfport, date, sha256 }: { tfport: string; date: string; sha256: string }): JSX.Element {
  return (
    <>
      <span>
        tfport {tfport}, {date}
      </span>
      {sha256 && <span title={`SHA-256 ${sha256}`}>SHA-256 {sha256.slice(0, 16)}…</span>}
    </>
  );
}

/** Who saved the model, in a few words. */
function producerOf(producer: { tensorflow: string | null; graph_def: number; made_with: string[] }): string {
  if (producer.tensorflow && producer.tensorflow !== "unknown") return `TensorFlow ${producer.tensorflow}`;
  return producer.made_with[0] ?? (producer.graph_def ? `GraphDef ${producer.graph_def}` : "");
}
