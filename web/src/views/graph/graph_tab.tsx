/** The graph of the model, with everything about the selected node beside it. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GraphSummary, NodeAddress } from "../../api/types";
import { whole } from "../../components/format";
import { Empty, Request } from "../../components/states";
import { printable, shortened } from "../../components/text";
import { GraphView } from "../../graph/GraphView";
import type { ViewProps } from "../../shell/model_page";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { NodePanel } from "./node_panel";
import { nodesOfFindings } from "./nodes_of_findings";

export function GraphTab({ session, query }: ViewProps): JSX.Element {
  return (
    <Request ask={session.graphs} keys={[session]} what="Reading the graphs">
      {(graphs) => (graphs.length ? <Graphs session={session} graphs={graphs} query={query} /> : <NoGraph session={session} />)}
    </Request>
  );
}

/** Why the model has no graph, where the reader knows. */
function NoGraph({ session }: { session: ModelSession }): JSX.Element {
  return (
    <Request ask={session.inspection} keys={[session]} what="Reading the model">
      {({ keras, lite }) => <Empty>{keras?.no_graph ?? lite?.no_graph ?? "The model has no graph: it stores tensors only."}</Empty>}
    </Request>
  );
}

interface GraphsProps {
  session: ModelSession;
  graphs: GraphSummary[];
  query: URLSearchParams;
}

function Graphs({ session, graphs, query }: GraphsProps): JSX.Element {
  const overlay = useSignal(session.overlay);
  const report = useSignal(session.checked);
  const findings = useMemo(() => nodesOfFindings(report), [report]);
  const first = graphs[0]?.id ?? "";
  const current = graphs.find(({ id }) => id === (query.get("in") ?? query.get("graph")))?.id ?? first;
  const node = query.get("node");
  const selected = node === null ? undefined : { graph: query.get("graph") ?? first, node };
  const select = (address: NodeAddress | null) => {
    const place: Record<string, string> = address ? { ...address } : { graph: current };
    if (place.graph !== current) place.in = current;
    go(modelAddress(session.id, "graph", place), true);
  };
  const open = (graph: string) => go(modelAddress(session.id, "graph", { graph }));
  return (
    <div class="graph-tab">
      {(graphs.length > 1 || overlay) && (
        <div class="graph-bar">
          {graphs.length > 1 && <GraphChoice graphs={graphs} value={current} onChange={open} />}
          {overlay && (
            <button type="button" onClick={() => (session.overlay.value = null)}>
              Clear the colors
            </button>
          )}
        </div>
      )}
      <div class="graph-place">
        <Request ask={() => session.graph(current)} keys={[session, current]} what="Reading the graph">
          {(graph) => (
            <GraphView
              key={current}
              graph={graph}
              graphs={graphs}
              loadGraph={session.graph}
              {...(overlay ? { overlay } : {})}
              {...(selected ? { selected } : {})}
              {...(source.isStatic ? {} : { search: (text: string) => source.search(session.id, text) })}
              findings={findings}
              onSelect={select}
              onOpenGraph={open}
            />
          )}
        </Request>
        {selected && <NodePanel session={session} address={selected} onSelect={select} onOpenGraph={open} onClose={() => select(null)} />}
      </div>
    </div>
  );
}

interface GraphChoiceProps {
  graphs: GraphSummary[];
  value: string;
  onChange: (graph: string) => void;
}

function GraphChoice({ graphs, value, onChange }: GraphChoiceProps): JSX.Element {
  return (
    <label class="flow">
      <span class="soft">{whole(graphs.length)} graphs</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {graphs.map(({ id, name, kind, nodes, signatures }) => (
          <option key={id} value={id}>
            {!name || name === kind ? "main graph" : `${shortened(printable(name), 70)} · ${kind}`}, {whole(nodes)} nodes
            {signatures.length > 0 && ` · ${shortened(signatures.join(", "), 40)}`}
          </option>
        ))}
      </select>
    </label>
  );
}
