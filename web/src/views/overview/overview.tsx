/** What the model is, at a glance, and a form to run it. */

import type { JSX } from "preact";
import type { Inspection } from "../../api/reports";
import { count, kindTitle, whole } from "../../components/format";
import { Request } from "../../components/states";
import { Fact, Facts, Name, Sentence } from "../../components/text";
import type { ViewProps } from "../../shell/model_page";
import { modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { Assets, Tables } from "./contents";
import { KerasLayers } from "./keras";
import { LitePart } from "./lite";
import { HarmlessScan, Risks } from "./risks";
import { Signatures } from "./signatures";
import { Warnings } from "./warnings";
import { WhereItRuns } from "./where_it_runs";

export function Overview({ session }: ViewProps): JSX.Element {
  return (
    <Request ask={session.inspection} keys={[session]} what="Reading the model">
      {(inspection) => (
        <div class="overview">
          <div class="stack">
            <WhereItRuns session={session} />
            <Warnings inspection={inspection} session={session} />
            {!source.isStatic && <Risks session={session} />}
            <Signatures inspection={inspection} session={session} />
            {inspection.keras && <KerasLayers keras={inspection.keras} />}
            {inspection.lite && <LitePart lite={inspection.lite} />}
            <Tables inspection={inspection} />
            {!source.isStatic && <HarmlessScan session={session} />}
          </div>
          <aside class="stack" aria-label="About the model">
            <About inspection={inspection} session={session} />
            <Assets inspection={inspection} session={session} />
          </aside>
        </div>
      )}
    </Request>
  );
}

function About({ inspection, session }: { inspection: Inspection; session: ModelSession }): JSX.Element {
  const { producer, graph, kind, tags, checkpoint, variables, ops } = inspection;
  const newest = newestRelease(ops.newest);
  const has = (tab: string) => source.tabs().includes(tab);
  const link = (tab: "graph" | "ops" | "tensors", text: string) =>
    has(tab) ? <a href={modelAddress(session.id, tab)}>{text}</a> : text;
  return (
    <section class="card" aria-labelledby="about">
      <h2 id="about">About</h2>
      <Facts>
        <Fact name="format">{kindTitle(kind)}</Fact>
        <Fact name="path">
          <Sentence text={inspection.model} />
        </Fact>
        <Fact name="saved by">{producer.tensorflow && `TensorFlow ${producer.tensorflow}`}</Fact>
        <Fact name="made with">{producer.made_with.join(", ")}</Fact>
        <Fact name="GraphDef">{!inspection.keras && producer.graph_def > 0 && `version ${producer.graph_def}, readable since ${producer.min_consumer}`}</Fact>
        <Fact name="tags">{tags.join(", ")}</Fact>
        <Fact name="graph">{graph.nodes > 0 && link("graph", `${count(graph.nodes, "node")}, ${count(graph.functions, "function")}`)}</Fact>
        <Fact name="ops">{link("ops", `${whole(Object.keys(ops.total).length)} different`)}</Fact>
        <Fact name="newest op">
          {newest && (
            <>
              <code>
                <Name text={newest.op} longest={80} />
              </code>{" "}
              since {newest.release}
            </>
          )}
        </Fact>
        <Fact name="tensors">{checkpoint.length > 0 && link("tensors", count(checkpoint.length, "stored tensor"))}</Fact>
        <Fact name="variables">{variables.length > 0 && whole(variables.length)}</Fact>
        <Fact name="devices">{graph.devices.join(", ")}</Fact>
      </Facts>
    </section>
  );
}

/** The op that arrived last: older releases lack it. */
function newestRelease(newest: Record<string, string>): { op: string; release: string } | null {
  const sorted = Object.entries(newest).sort(([, a], [, b]) => b.localeCompare(a, "en", { numeric: true }));
  return sorted[0] ? { op: sorted[0][0], release: sorted[0][1] } : null;
}
