/** The history of an op: releases, changes, kernels by device and type. */

import type { JSX } from "preact";
import type { OpHistory, OpsReport, ReleaseSpan } from "../../api/reports";
import { Empty, Request } from "../../components/states";
import { Name, Sentence } from "../../components/text";
import { tell } from "../../shell/notice";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";

interface OpPanelProps {
  op: string;
  session: ModelSession;
  onClose: () => void;
}

export function OpPanel({ op, session, onClose }: OpPanelProps): JSX.Element {
  return (
    <aside class="card stack side-panel" aria-label={`Op ${op}`} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <header class="flow spread">
        <h2 class="mono">
          <Name text={op} longest={80} />
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      <p>
        <button type="button" onClick={() => void showNodes(op, session).catch(tell)}>
          Show its nodes in the graph
        </button>
      </p>
      <Request ask={() => source.op(op)} keys={[op]} what="Looking it up">
        {(report) => <History report={report} />}
      </Request>
    </aside>
  );
}

/** Color the nodes of an op, and go to the first one. */
async function showNodes(op: string, session: ModelSession): Promise<void> {
  const { matches } = await source.search(session.id, `op:${op}`);
  const [first] = matches;
  if (!first) throw new Error(`No node has the op \`${op}\`.`);
  const tones = new Map<string, Map<string, number>>();
  for (const { graph, node } of matches) tones.set(graph, (tones.get(graph) ?? new Map()).set(node, 0));
  session.overlay.value = { title: "Nodes of an op", legend: [{ label: op, tone: "note" }], tones };
  go(modelAddress(session.id, "graph", { ...first }));
}

function History({ report }: { report: OpsReport }): JSX.Element {
  const [history] = report.ops;
  if (!history) return <Empty>No recorded release and no recorded add-on registers this op.</Empty>;
  return (
    <>
      <Definition history={history} />
      {history.providers.map((provider) => (
        <section key={`${provider.package} ${provider.library}`} class="provider">
          <h3>
            {provider.package} <small>{provider.library}</small>
          </h3>
          {provider.releases.length > 0 && <p>{spans(provider.releases)}</p>}
          <Changes changes={provider.changes} />
          <Kernels kernels={provider.kernels} />
        </section>
      ))}
    </>
  );
}

function Definition({ history }: { history: OpHistory }): JSX.Element {
  const { inputs, outputs, attrs, deprecated } = history.definition;
  const list = (ends: { name: string; type: string }[]) => ends.map(({ name, type }) => `${name}: ${type}`).join(", ");
  return (
    <div class="stack tight">
      <pre tabIndex={0} aria-label="Definition">{`${history.name}(${list(inputs)})\n  → ${list(outputs) || "nothing"}`}</pre>
      {deprecated && (
        <p>
          <span class="tag warn">deprecated</span> <Sentence text={deprecated.why} />
        </p>
      )}
      {attrs.length > 0 && (
        <details>
          <summary>{attrs.length} attributes</summary>
          <ul class="attrs">
            {attrs.map((attr) => (
              <li key={attr.name}>
                <code>{attr.name}</code>: {attr.type}
                {"default" in attr && ` = ${JSON.stringify(attr.default)}`}
                {Array.isArray(attr.allowed) && <small> {attr.allowed.join(", ")}</small>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

type Provider = OpHistory["providers"][number];

function Changes({ changes }: { changes: Provider["changes"] }): JSX.Element | null {
  if (changes.length === 0) return null;
  return (
    <details>
      <summary>{changes.length === 1 ? "1 release changed it" : `${changes.length} releases changed it`}</summary>
      <dl class="facts">
        {changes.map(({ release, changes: what }) => (
          <div key={release}>
            <dt>{release}</dt>
            <dd>
              {what.map((change) => (
                <p key={change}>
                  <Sentence text={change} />
                </p>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Kernels({ kernels }: { kernels: Provider["kernels"] }): JSX.Element | null {
  if (kernels.length === 0) return null;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Kernels">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">kernel</th>
            <th scope="col">types</th>
            <th scope="col">releases</th>
          </tr>
        </thead>
        <tbody>
          {kernels.map(({ device, types, label, releases }, index) => (
            <tr key={index}>
              <td>
                {device} {label && <small>{label}</small>}
              </td>
              <td class="wrap">{types?.join(", ") ?? "any"}</td>
              <td class="wrap">{spans(releases)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function spans(releases: ReleaseSpan[]): string {
  return releases.map(({ first, last }) => (first === last ? first : `${first} – ${last}`)).join(", ");
}
