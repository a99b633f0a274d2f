/** The parts of a graph view that live as long as its canvas: stage, explorer and worker, wired together. */
import type { GraphData, NodeAddress } from "../api/types";
import type { GraphViewProps } from "./GraphView";
import { Explorer, type Opened } from "./explorer";
import { layoutWorker } from "./layout/client";
import { followMinimap } from "./minimap_pointer";
import type { Target } from "./paint/state";
import { followPointer } from "./pointer";
import type { Scene } from "./scene/scene";
import { sightsOf, lookAt } from "./sights";
import { Stage } from "./stage";

export interface Machine {
  stage: Stage;
  explorer: Explorer;
  end: () => void;
}

export interface MachineEvents {
  props: () => GraphViewProps;
  /** What is shown of the graph. */
  graph: GraphData;
  /** What is open other than in the first picture. */
  opened?: Opened | undefined;
  onScene: (scene: Scene) => void;
  onSelect: (target: Target | null) => void;
  onNotice: (sentence: string) => void;
  onBusy: (busy: boolean) => void;
}

/** The node that a target shows, or null for a scope. */
export function addressOf({ block, satellite }: Target): NodeAddress | null {
  const { hierarchy } = block.instance;
  const beside = block.satellites[satellite]?.node ?? -1;
  const node = satellite >= 0 ? beside : block.kind === "node" ? hierarchy.nodeOf(block.item) : -1;
  return node < 0 ? null : { graph: hierarchy.graph.id, node: hierarchy.graph.names[node]! };
}

export function startMachine(canvas: HTMLCanvasElement, minimap: HTMLCanvasElement, events: MachineEvents): Machine {
  const { graphs, link, side } = events.props();
  const stage = new Stage(canvas, minimap);
  const worker = layoutWorker();
  const explorer = new Explorer(events.graph, graphs, (id) => events.props().loadGraph(id), stage.texts.measure, worker.solve, {
    onScene: (scene, steady) => {
      stage.show(scene, steady);
      events.onScene(scene);
    },
    onNotice: events.onNotice,
    onBusy: events.onBusy,
    onOpened: (changed) => events.props().onOpened?.(changed),
  });
  const sizes = new ResizeObserver(() => stage.resize(canvas.clientWidth, canvas.clientHeight));
  sizes.observe(canvas);
  const theme = new MutationObserver(() => stage.updateTheme());
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const ends = [
    followPointer(canvas, stage, { onSelect: events.onSelect, onOpen: ({ block }) => void explorer.toggle(block) }),
    followMinimap(minimap, stage),
    () => sizes.disconnect(),
    () => theme.disconnect(),
    () => stage.end(),
    () => worker.end(),
  ];
  if (link && side) {
    stage.onCamera = () => link.moved(side, sightsOf(stage));
    ends.push(link.follow(side, (sight) => lookAt(stage, sight)));
  }
  explorer.start(events.opened).catch((error: unknown) => {
    events.onBusy(false);
    events.onNotice(error instanceof Error ? error.message : String(error));
  });
  return { stage, explorer, end: () => ends.forEach((end) => end()) };
}
