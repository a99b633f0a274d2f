/** The graph of the model, with everything about the selected node beside it. */

import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { CheckReport } from "../../api/reports";
import type { GraphSummary, NodeAddress } from "../../api/types";
import { whole } from "../../components/format";
import { Empty, Request } from "../../components/states";
import { printable, shortened } from "../../components/text";
import { GraphView } from "../../graph/GraphView";
import type { Opened } from "../../graph/explorer";
import type { ViewProps } from "../../shell/model_page";
import { tell } from "../../shell/notice";
import { changeQuery, setParameter } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { NodePanel } from "./node_panel";
import { findingKey, overlayOf } from "../verdicts/overlay_of_findings";
import { nodesOfFindings } from "./nodes_of_findings";

/** More open boxes than this are not kept in the address. */
const MOST_KEPT = 60;
const PLACE = ["graph", "node", "in"];
const PICTURE = ["part", "open", "closed"];
const COLORS = ["target", "device", "finding"];

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
  useFindings(session, query);
  const select = (address: NodeAddress | null, replace = false) =>
    changeQuery((next) => {
      for (const name of PLACE) next.delete(name);
      const place: Record<string, string> = address ? { ...address } : { graph: current };
      if (place.graph !== current) place.in = current;
      for (const [name, value] of Object.entries(place)) next.set(name, value);
    }, replace);
  const open = (graph: string) =>
    changeQuery((next) => {
      for (const name of [...PLACE, ...PICTURE]) next.delete(name);
      next.set("graph", graph);
    });
  const clear = () => {
    session.overlay.value = null;
    changeQuery((next) => COLORS.forEach((name) => next.delete(name)), true);
  };
  return (
    <div class="graph-tab">
      {(graphs.length > 1 || overlay) && (
        <div class="graph-bar">
          {graphs.length > 1 && <GraphChoice graphs={graphs} value={current} onChange={open} />}
          {overlay && (
            <button type="button" onClick={clear}>
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
              {...pictureOf(query)}
              onPart={(part) => changeQuery((next) => setParameter(next, "part", String(part)), true)}
              onOpened={keepOpened}
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

/** What the address says of the picture. */
function pictureOf(query: URLSearchParams): { part: number | undefined; opened: Opened } {
  const part = query.get("part");
  return { part: part === null ? undefined : Number(part), opened: { open: query.getAll("open"), closed: query.getAll("closed") } };
}

function keepOpened({ open, closed }: Opened): void {
  const few = open.length + closed.length <= MOST_KEPT;
  changeQuery((next) => {
    next.delete("open");
    next.delete("closed");
    if (few) open.forEach((key) => next.append("open", key));
    if (few) closed.forEach((key) => next.append("closed", key));
  }, true);
}

/** Color the nodes of the finding that the address names, and go to the first of them if it names no node. */
function useFindings(session: ModelSession, query: URLSearchParams): void {
  const [target, finding] = [query.get("target"), query.get("finding")];
  const device = query.get("device") === "gpu" ? "gpu" : "cpu";
  useEffect(() => {
    if (!target) return;
    let wanted = true;
    const show = (report: CheckReport) => {
      if (!wanted) return;
      session.checked.value = report;
      const all = report.results.flatMap(({ findings }) => findings).filter(({ severity, ...key }) => (finding ? findingKey(key) === finding : severity !== "note"));
      session.overlay.value = overlayOf(all, `Findings on ${target}`);
      const first = all.flatMap(({ all_nodes: nodes = [] }) => nodes)[0];
      if (first && query.get("node") === null) {
        changeQuery((next) => {
          next.set("graph", first.graph);
          next.set("node", first.node);
        }, true);
      }
    };
    const known = session.checked.value;
    const isKnown = known?.results.some((result) => result.target === target && result.device === device);
    (isKnown && known ? Promise.resolve(known) : source.check(session.id, { targets: [target], device })).then(show, (error: unknown) => wanted && tell(error));
    return () => {
      wanted = false;
    };
  }, [session, target, finding, device]);
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
