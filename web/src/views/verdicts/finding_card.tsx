/** One thing that goes wrong: cause, the runtime's own words, what to do, where. */

import type { JSX } from "preact";
import type { Finding } from "../../api/reports";
import { CopyButton } from "../../components/copy";
import { count } from "../../components/format";
import { Name, printable, Sentence } from "../../components/text";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { findingKey, overlayOf } from "./overlay_of_findings";

const MOST_NODES = 4;
const MARKS = { error: ["✕", "bad"], warning: ["!", "warn"], note: ["i", "soft"] } as const;

interface FindingCardProps {
  finding: Finding;
  /** What the colors of the graph are called while they show it. */
  title: string;
  session: ModelSession;
  /** Where it is found, for the address of its nodes; a finding of a scan has none. */
  at?: { target: string; device: string };
  /** Other targets that have it too. */
  also?: string[];
  /** Whether all of it is shown at first. */
  open?: boolean;
}

export function FindingCard({ finding, title, session, at, also = [], open = false }: FindingCardProps): JSX.Element {
  const [glyph, tone] = MARKS[finding.severity] ?? MARKS.error;
  return (
    <details class={`finding ${finding.severity}`} open={open}>
      <summary>
        <span class={`glyph ${tone}`} aria-hidden="true">
          {glyph}
        </span>
        <h4>
          <Sentence text={finding.message} />
        </h4>
        <span class="finding-code">
          <abbr title={finding.name}>{finding.code}</abbr>
          {finding.stage && ` at ${finding.stage}`}
        </span>
      </summary>
      <dl class="facts">
        <Row name="cause" text={finding.cause} />
        <Row name="doubt" text={finding.doubt} />
        {finding.tensorflow_says && (
          <div>
            <dt>the runtime says</dt>
            <dd class="says">
              <pre tabIndex={0} aria-label="The runtime's message">
                {printable(finding.tensorflow_says)}
              </pre>
              <CopyButton text={finding.tensorflow_says} label="Copy the runtime's message" />
            </dd>
          </div>
        )}
        {finding.fixes.length > 0 && (
          <div>
            <dt>what to do</dt>
            <dd>
              <ul>
                {finding.fixes.map((fix) => (
                  <li key={fix}>
                    <Sentence text={fix} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        <Where finding={finding} title={title} session={session} at={at} />
      </dl>
      {also.length > 0 && <p class="soft">Also on {also.join(", ")}</p>}
    </details>
  );
}

function Row({ name, text }: { name: string; text: string | null }): JSX.Element | null {
  if (!text) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Sentence text={text} />
      </dd>
    </div>
  );
}

type WhereProps = Pick<FindingCardProps, "finding" | "title" | "session"> & { at: FindingCardProps["at"] | undefined };

/** The query of the graph that shows a finding. */
export function placeOf(finding: Finding, at: { target: string; device: string }): Record<string, string> {
  return { target: at.target, ...(at.device === "gpu" ? { device: at.device } : {}), finding: findingKey(finding) };
}

function Where({ finding, title, session, at }: WhereProps): JSX.Element | null {
  if (finding.nodes.length === 0) return null;
  const [first] = finding.all_nodes ?? [];
  const show = () => {
    session.overlay.value = overlayOf([finding], title);
    if (first) go(modelAddress(session.id, "graph", { ...(at ? placeOf(finding, at) : {}), graph: first.graph, node: first.node }));
  };
  const shown = finding.nodes.slice(0, MOST_NODES);
  const number = finding.all_nodes?.length ?? finding.count;
  const more = number - shown.length;
  return (
    <div>
      <dt>where</dt>
      <dd>
        <span class="nodes">
          {shown.map(({ node, function: name }, index) => (
            <span key={index}>
              <code>
                <Name text={node} longest={100} />
              </code>
              {name && <small> in {printable(name).slice(0, 80)}</small>}
            </span>
          ))}
          {more > 0 && <small>and {count(more, "more node")}</small>}
        </span>
        {first && source.tabs().includes("graph") && (
          <button type="button" class="show-nodes" onClick={show}>
            Show {number === 1 ? "the node" : count(number, "node")} in the graph
          </button>
        )}
      </dd>
    </div>
  );
}
