/** Everything about the selected node. */

import type { JSX } from "preact";
import type { Finding, ProfiledNode } from "../../api/reports";
import type { NodeAddress, NodeDetails } from "../../api/types";
import { CopyButton } from "../../components/copy";
import { milliseconds } from "../../components/format";
import { Request } from "../../components/states";
import { PeekOfTensor } from "../../components/tensor_peek";
import { Fact, Facts, Name, printable, Sentence } from "../../components/text";
import { modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { Attributes, Inputs, Outputs } from "./node_ends";
import { detailsFromGraph } from "./node_from_graph";

interface NodePanelProps {
  session: ModelSession;
  address: NodeAddress;
  onSelect: (address: NodeAddress) => void;
  onOpenGraph: (graph: string) => void;
  onClose: () => void;
}

export function NodePanel(props: NodePanelProps): JSX.Element {
  const { session, address, onClose } = props;
  const ask = async () =>
    source.isStatic ? detailsFromGraph(await session.graph(address.graph), address.node) : source.node(session.id, address.graph, address.node);
  return (
    <aside class="node-panel" aria-label="Selected node" onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <header>
        <h2>
          <bdi class="node-name" tabIndex={address.node.length > 300 ? 0 : undefined}>
            {printable(address.node)}
          </bdi>
        </h2>
        <button type="button" class="quiet" aria-label="Close the panel" onClick={onClose}>
          ✕
        </button>
      </header>
      <Request ask={ask} keys={[session, address.graph, address.node]} what="Reading the node">
        {(details) => <Details {...props} details={details} />}
      </Request>
    </aside>
  );
}

function Details({ session, address, onSelect, onOpenGraph, details }: NodePanelProps & { details: NodeDetails }): JSX.Element {
  const go = (node: string) => onSelect({ graph: address.graph, node });
  const time = useTime(session, address);
  const share = new URL(modelAddress(session.id, "graph", { graph: address.graph, node: address.node }), location.href).href;
  return (
    <div class="stack">
      <Facts>
        <Fact name="op">
          <Op session={session} op={details.op} />
          {details.since && (
            <small>
              {" "}
              since {details.since}
              {details.until && `, until ${details.until}`}
            </small>
          )}
        </Fact>
        <Fact name="device">{details.device && printable(details.device)}</Fact>
        <Fact name="time">{time && `${milliseconds(time.ms)}, ${typeof time.where === "number" ? `island ${time.where}` : time.where}`}</Fact>
        <Fact name="on the host">{time?.reason && <Sentence text={time.reason} />}</Fact>
        <Fact name="share">
          <CopyButton text={share} label="Copy the address of this node" caption="Copy the address" />
        </Fact>
      </Facts>
      <Findings session={session} address={address} />
      {details.calls.length > 0 && (
        <section>
          <h3>Calls</h3>
          <ul class="plain">
            {details.calls.map(({ attribute, graph, name }) => (
              <li key={attribute + graph}>
                <button type="button" class="link" onClick={() => onOpenGraph(graph)}>
                  <Name text={name} longest={80} />
                </button>{" "}
                <small>{attribute}</small>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Inputs details={details} onGo={go} />
      <Outputs details={details} onGo={go} />
      {details.value && (
        <section>
          <h3>Value</h3>
          <PeekOfTensor peek={details.value} />
        </section>
      )}
      {details.tensor && <StoredTensor session={session} tensor={details.tensor} />}
      {!source.isStatic && details.tensors?.map((tensor) => <StoredTensor key={tensor} session={session} tensor={tensor} />)}
      <Attributes details={details} />
    </div>
  );
}

function Op({ session, op }: { session: ModelSession; op: string }): JSX.Element {
  const name = (
    <code>
      <Name text={op} longest={80} />
    </code>
  );
  return source.tabs().includes("ops") && !source.isStatic ? <a href={modelAddress(session.id, "ops", { op })}>{name}</a> : name;
}

function StoredTensor({ session, tensor }: { session: ModelSession; tensor: string }): JSX.Element {
  return (
    <section>
      <h3>
        Stored tensor <small>{printable(tensor).slice(0, 120)}</small>
      </h3>
      <Request ask={() => source.tensor(session.id, tensor)} keys={[session, tensor]} what="Reading the values">
        {(peek) => <PeekOfTensor peek={peek} npy={{ name: tensor, get: () => source.npy(session.id, tensor) }} />}
      </Request>
    </section>
  );
}

/** Where and how long the node ran, if there is a profile. */
function useTime(session: ModelSession, { graph, node }: NodeAddress): ProfiledNode | undefined {
  const { result } = useSignal(session.profile.state);
  return result?.nodes.find((other) => other.graph === graph && other.node === node);
}

function Findings({ session, address }: { session: ModelSession; address: NodeAddress }): JSX.Element | null {
  const report = useSignal(session.checked);
  const isHere = (finding: Finding) => finding.all_nodes?.some(({ graph, node }) => graph === address.graph && node === address.node);
  const every = (report?.results ?? []).flatMap((result) => result.findings.filter(isHere).map((finding) => ({ finding, target: result.target })));
  const here = [...new Map(every.map((row) => [`${row.target} ${row.finding.code} ${row.finding.message}`, row])).values()]; // loaders that differ elsewhere share it
  if (here.length === 0) return null;
  return (
    <section>
      <h3>Findings</h3>
      {here.map(({ finding, target }, index) => (
        <p key={index} class="node-finding">
          <span class="glyph bad" aria-hidden="true">
            ✕
          </span>{" "}
          <Sentence text={finding.message} /> <small>{finding.code}</small>{" "}
          <a href={`#/model/${encodeURIComponent(session.id)}/verdicts?target=${encodeURIComponent(target)}`}>details</a>
        </p>
      ))}
    </section>
  );
}
