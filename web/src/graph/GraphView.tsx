/** The graph of a model: a canvas with pan and zoom, and a list of the same for keyboards and screen readers. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GraphData, GraphPart, GraphSummary, NodeAddress, SearchResult } from "../api/types";
import type { CameraLink, Side as LinkSide } from "./camera_link";
import "./graph.css";
import type { Opened } from "./explorer";
import { handleKey, isTyping } from "./keys";
import { addressOf, startMachine, type Machine } from "./machine";
import type { Overlay } from "./overlay";
import { Tones } from "./overlay_index";
import { marksOf } from "./marks";
import type { Target } from "./paint/state";
import { restrictGraph, signatureParts } from "./parts";
import { Legend } from "./panels/legend";
import { PartChoice } from "./panels/part_choice";
import { Side } from "./panels/side";
import { Tools } from "./panels/tools";
import type { Scene } from "./scene/scene";
import type { Findings } from "./search";

export interface GraphViewProps {
  graph: GraphData;
  /** All graphs of the model, for those that nodes call. */
  graphs: GraphSummary[];
  loadGraph: (id: string) => Promise<GraphData>;
  overlay?: Overlay;
  selected?: NodeAddress;
  onSelect: (address: NodeAddress | null) => void;
  onOpenGraph: (id: string) => void;
  /** The server's search, for `attr:`. */
  search?: (query: string) => Promise<SearchResult>;
  /** The nodes of findings, for `finding:`. */
  findings?: Findings | undefined;
  /** What the address says of the picture: the part, and what is open. */
  part?: number | undefined;
  opened?: Opened | undefined;
  onPart?: (part: number) => void;
  onOpened?: (changed: Opened) => void;
  /** Two views with the same link show the same nodes. */
  link?: CameraLink;
  side?: LinkSide;
}

/** The side is open at first where there is room for it. */
const WIDE = 1150;
const NO_MATCHES: readonly NodeAddress[] = [];

function isSame(a: NodeAddress | null | undefined, b: NodeAddress | null | undefined): boolean {
  return a?.graph === b?.graph && a?.node === b?.node;
}

/** The first signature, or everything if the selected node is in no other part. */
function firstPart(parts: readonly GraphPart[], { graph, selected, part }: GraphViewProps): number {
  if (part !== undefined && part < parts.length) return part;
  if (!parts.length || selected?.graph !== graph.id) return parts.length ? 0 : -1;
  return parts.findIndex((part) => part.nodes.some((node) => graph.names[node] === selected.node));
}

/** Whether a node of the graph is not in the part of it that is shown. */
function isHidden(address: NodeAddress, whole: GraphData, shown: GraphData): boolean {
  return shown !== whole && address.graph === whole.id && !shown.names.includes(address.node) && whole.names.includes(address.node);
}

export function GraphView(props: GraphViewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  const whole = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [machine, setMachine] = useState<Machine | null>(null);
  const [scene, setScene] = useState<Scene | null>(null);
  const [notice, setNotice] = useState("");
  const [busy, setBusy] = useState(true);
  const [controls, setControls] = useState(false);
  const [isOpen, setOpen] = useState(() => innerWidth >= WIDE && !props.link);
  const [key, setKey] = useState<string | null>(null);
  const [matches, setMatches] = useState(NO_MATCHES);
  const parts = useMemo(() => signatureParts(props.graph), [props.graph]);
  const [part, setPart] = useState(() => firstPart(parts, props));
  const graph = useMemo(() => (parts[part] ? restrictGraph(props.graph, parts[part].nodes) : props.graph), [props.graph, part]);

  const first = useRef(true);
  const choosePart = (next: number) => {
    setPart(next);
    props.onPart?.(next);
  };
  const step = useRef<(by: 1 | -1) => void>(() => {});
  const current = useRef<Machine | null>(null);
  const select = (target: Target | null) => {
    if (!current.current) return;
    current.current.stage.state.selected = target;
    current.current.stage.repaint();
    setKey(target?.block.key ?? null);
    latest.current.onSelect(target && addressOf(target));
  };
  useEffect(() => {
    const started = startMachine(canvas.current!, minimap.current!, {
      props: () => latest.current, graph, opened: first.current ? latest.current.opened : undefined, onScene: setScene, onSelect: select, onNotice: setNotice, onBusy: setBusy,
    });
    first.current = false;
    current.current = started;
    setMachine(started);
    setScene(null);
    return started.end;
  }, [graph]);

  const tones = useMemo(
    () => machine && props.overlay && new Tones(props.overlay, machine.explorer.hierarchies, machine.explorer.summaries),
    [machine, props.overlay],
  );
  useEffect(() => {
    if (!machine) return;
    Object.assign(machine.stage.state, { overlay: tones || null, controls, marked: scene ? marksOf(scene, matches) : new Set() });
    machine.stage.repaint();
  }, [machine, tones, controls, scene, matches]);

  const reveal = async (address: NodeAddress) => {
    const target = await machine!.explorer.reveal(address);
    machine!.stage.state.selected = target;
    setKey(target?.block.key ?? null);
    if (target) machine!.stage.center(target.block);
    else setNotice(`There is no node "${address.node.slice(0, 100)}" in the graph as shown.`);
    machine!.stage.repaint();
  };
  const { selected } = props;
  useEffect(() => {
    if (!machine || !scene) return;
    const shown = machine.stage.state.selected && addressOf(machine.stage.state.selected);
    if (isSame(shown, selected)) return;
    if (selected && isHidden(selected, props.graph, graph)) choosePart(-1);
    else if (selected) void reveal(selected);
    else if (shown) {
      machine.stage.state.selected = null;
      setKey(null);
      machine.stage.repaint();
    }
  }, [machine, scene?.root.instance.hierarchy, selected?.graph, selected?.node]);

  const openSearch = () => {
    setOpen(true);
    whole.current!.querySelector<HTMLInputElement>(".graph-search")!.focus();
  };
  const keyEvents = { onStep: (by: 1 | -1) => step.current(by), onOpenGraph: props.onOpenGraph };
  const onKey = (event: KeyboardEvent) => {
    if (machine && handleKey(event, machine.stage, machine.explorer, { ...keyEvents, onSelect: select, onSearch: openSearch })) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  useEffect(() => {
    const onStep = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || props.link || isTyping(event.target)) return;
      if (event.key === "n" || event.key === "N") step.current(event.key === "n" ? 1 : -1);
    };
    addEventListener("keydown", onStep);
    return () => removeEventListener("keydown", onStep);
  }, [props.link]);
  const dismiss = () => {
    setNotice("");
    if (!scene) void machine?.explorer.refresh(null);
  };
  const label = `${graph.name || "the main graph"}: ${graph.names.length.toLocaleString("en")} nodes`;
  return (
    <div ref={whole} class="graph-view" data-side={isOpen ? "open" : "closed"}>
      {machine && (
        <Side
          label={`Outline of ${label}`} blocks={scene?.blocks ?? []} selected={key} hierarchies={machine.explorer.hierarchies}
          loadCalled={() => machine.explorer.loadCalled()} findings={props.findings} search={props.search} onFound={setMatches} step={step} onClose={() => canvas.current!.focus()}
          onSelect={(block) => { select({ block, satellite: -1 }); machine.stage.bring(block); }}
          onToggle={(block) => void machine.explorer.toggle(block)}
          onGo={(address) => (isSame(address, selected) ? void reveal(address) : props.onSelect(address))}
        />
      )}
      <div class="graph-stage">
        <canvas
          ref={canvas} class="graph-canvas" tabIndex={0} role="img" onKeyDown={onKey}
          aria-label={`Picture of ${label}. The outline lists the same nodes.`}
        />
        <canvas ref={minimap} class="graph-minimap" hidden aria-hidden="true" />
        {machine && <Tools stage={machine.stage} explorer={machine.explorer} name={graph.name || "graph"} controls={controls} onControls={setControls} side={isOpen} onSide={setOpen} />}
        {parts.length > 0 && graph.kind === "graph" && <PartChoice parts={parts} value={part} onChange={choosePart} />}
        {props.overlay && <Legend overlay={props.overlay} />}
        {busy && <p class="graph-busy">Placing the boxes …</p>}
        {notice && (
          <div class="graph-notice" role="status" data-alone={scene === null}>
            <span>{notice}</span> <button type="button" onClick={dismiss}>{scene ? "Close" : "Try again"}</button>
          </div>
        )}
      </div>
    </div>
  );
}
