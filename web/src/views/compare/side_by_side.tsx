/** Two graphs beside each other, with what was added, is gone and has changed. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GraphDifference, GraphKind, GraphSummary, NodeAddress } from "../../api/types";
import { count, whole } from "../../components/format";
import { Problem, Request } from "../../components/states";
import { Name, printable, shortened } from "../../components/text";
import { CameraLink } from "../../graph/camera_link";
import { GraphView } from "../../graph/GraphView";
import type { Overlay } from "../../graph/overlay";
import { sessionOf } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { nodesOfFindings } from "../graph/nodes_of_findings";
import { differenceRows, matchesOf, overlaysOf, partnerOf, type DifferenceRow } from "./difference_rows";
import { DifferenceList } from "./difference_list";

interface SideBySideProps {
  a: string;
  b: string;
  titles: [string, string];
  place: Place;
  onPlace: (place: Place) => void;
}

/** Which graph of each model is shown, and which node of it is selected. */
export interface Place {
  graphs: [string | null, string | null];
  nodes: [string | null, string | null];
}

/** The main graphs, without a node. */
export const START: Place = { graphs: [null, null], nodes: [null, null] };

type Pair = [string, string];

/** Graphs of layers and of TensorFlow Lite operators: the server compares graphs of TensorFlow ops. */
const OTHER_NODES: ReadonlySet<GraphKind> = new Set<GraphKind>(["layers", "subgraph"]);

export function SideBySide({ a, b, titles, place, onPlace }: SideBySideProps): JSX.Element {
  const comparable = async (id: string) => (await sessionOf(id).entry(), (await sessionOf(id).graphs()).filter(({ kind }) => !OTHER_NODES.has(kind)));
  const ask = () => Promise.all([a, b].map(comparable));
  return (
    <section class="card stack" aria-label="Graphs side by side">
      <h2>Graphs</h2>
      <Request ask={ask} keys={[a, b]} what="Reading both graphs">
        {([first = [], second = []]) =>
          first.length && second.length ? (
            <Pairs a={a} b={b} titles={titles} place={place} onPlace={onPlace} first={first} second={second} />
          ) : (
            <Problem sentence="One of the models has no graph." />
          )
        }
      </Request>
    </section>
  );
}

type PairsProps = SideBySideProps & { first: GraphSummary[]; second: GraphSummary[] };

function Pairs({ a, b, titles, place, onPlace, first, second }: PairsProps): JSX.Element {
  const shown = (graphs: GraphSummary[], id: string | null) => (graphs.find((graph) => graph.id === id) ?? graphs[0])?.id ?? "";
  const pair: Pair = [shown(first, place.graphs[0]), shown(second, place.graphs[1])];
  const setPair = (graphs: Pair) => onPlace({ graphs, nodes: START.nodes });
  const choose = (id: string) => {
    const name = first.find((graph) => graph.id === id)?.name;
    setPair([id, second.find((graph) => graph.name === name)?.id ?? pair[1]]);
  };
  const address = (index: 0 | 1) => ({ model: index ? b : a, graph: pair[index] });
  return (
    <>
      <div class="flow">
        <GraphSelect label={titles[0]} graphs={first} value={pair[0]} onChange={choose} />
        <GraphSelect label={titles[1]} graphs={second} value={pair[1]} onChange={(id) => setPair([pair[0], id])} />
      </div>
      <Request ask={() => source.difference(address(0), address(1))} keys={[a, b, ...pair]} what="Comparing the graphs">
        {(difference) => <Difference key={pair.join()} models={[a, b]} pair={pair} titles={titles} summaries={[first, second]} difference={difference} selected={place.nodes} onSelect={(nodes) => onPlace({ ...place, nodes })} />}
      </Request>
    </>
  );
}

interface GraphSelectProps {
  label: string;
  graphs: GraphSummary[];
  value: string;
  onChange: (id: string) => void;
}

function GraphSelect({ label, graphs, value, onChange }: GraphSelectProps): JSX.Element | null {
  if (graphs.length < 2) return null;
  return (
    <label class="flow">
      <span class="soft">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {graphs.map(({ id, name, kind, nodes }) => (
          <option key={id} value={id}>
            {shortened(printable(name) || kind, 48)} · {whole(nodes)} nodes
          </option>
        ))}
      </select>
    </label>
  );
}

interface DifferenceProps {
  models: [string, string];
  pair: Pair;
  titles: [string, string];
  summaries: [GraphSummary[], GraphSummary[]];
  difference: GraphDifference;
  selected: Place["nodes"];
  onSelect: (nodes: Place["nodes"]) => void;
}

function Difference({ models, pair, titles, summaries, difference, selected, onSelect }: DifferenceProps): JSX.Element {
  const rows = useMemo(() => differenceRows(difference), [difference]);
  const overlays = useMemo(() => overlaysOf(difference, pair), [difference, pair]);
  const link = useMemo(() => new CameraLink(matchesOf(difference)), [difference]);
  const select = (side: 0 | 1, node: string | null) => {
    const partner = node === null ? null : partnerOf(difference, side, node);
    onSelect(side ? [partner, node] : [node, partner]);
  };
  const same = `${count(difference.same, "node")} equal`;
  return (
    <>
      <p>
        {rows.length === 0 ? "The graphs are equal: " : ""}
        {[difference.added.length && `${whole(difference.added.length)} added`, difference.gone.length && `${whole(difference.gone.length)} gone`, difference.changed.length && `${whole(difference.changed.length)} changed`, difference.renamed.length && `${whole(difference.renamed.length)} renamed`, same]
          .filter(Boolean)
          .join(", ")}
      </p>
      <div class="two graphs-beside">
        {([0, 1] as const).map((side) => (
          <figure key={side}>
            <figcaption>{titles[side]}</figcaption>
            <Side model={models[side]} graph={pair[side]} graphs={summaries[side]} overlay={overlays[side]} link={link} side={side ? "b" : "a"} node={selected[side]} onSelect={(node) => select(side, node)} />
          </figure>
        ))}
      </div>
      {rows.length > 0 && <DifferenceList rows={rows} onSelect={(row: DifferenceRow) => onSelect([row.a, row.b])} />}
      {selected.some(Boolean) && (
        <p class="soft">
          Selected: <Name text={selected.filter(Boolean).join(" ↔ ")} />
        </p>
      )}
    </>
  );
}

interface SideProps {
  model: string;
  graph: string;
  graphs: GraphSummary[];
  overlay: Overlay;
  link: CameraLink;
  side: "a" | "b";
  node: string | null;
  onSelect: (node: string | null) => void;
}

function Side({ model, graph, graphs, overlay, link, side, node, onSelect }: SideProps): JSX.Element {
  const session = sessionOf(model);
  const report = useSignal(session.checked);
  const findings = useMemo(() => nodesOfFindings(report), [report]);
  const selected: NodeAddress | undefined = node === null ? undefined : { graph, node };
  return (
    <div class="graph-frame">
      <Request ask={() => session.graph(graph)} keys={[model, graph]} what="Reading the graph">
        {(data) => (
          <GraphView
            graph={data}
            graphs={graphs}
            loadGraph={session.graph}
            search={(text) => source.search(model, text)}
            findings={findings}
            overlay={overlay}
            link={link}
            side={side}
            {...(selected ? { selected } : {})}
            onSelect={(address) => onSelect(address && address.graph === graph ? address.node : null)}
            onOpenGraph={() => undefined}
          />
        )}
      </Request>
    </div>
  );
}
