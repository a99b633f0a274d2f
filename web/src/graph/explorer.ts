/** What of a model's graphs is open: loads graphs, opens and closes blocks, and keeps the scene up to date. */
import type { GraphData, GraphSummary, NodeAddress } from "../api/types";
import { Hierarchy } from "./hierarchy/hierarchy";
import type { Target } from "./paint/state";
import { arrange, LayoutCache, type Solver } from "./scene/arrange";
import { blocksOf, type Block } from "./scene/block";
import { buildBlocks } from "./scene/build";
import { callPath } from "./call_path";
import { expandAll, MOST_BLOCKS } from "./expand_all";
import { firstExpansion } from "./first_expansion";
import { composeScene, type Scene } from "./scene/scene";
import type { Measure } from "./scene/sizes";

const MOST_SEARCHED = 150;

export interface ExplorerEvents {
  /** A new scene; the block with this key, if any, should stay where it is on the screen. */
  onScene: (scene: Scene, steady: string | null) => void;
  onNotice: (sentence: string) => void;
  /** Whether a layout is under way. */
  onBusy?: (busy: boolean) => void;
  /** What is open now that was closed in the first picture, and the other way around. */
  onOpened?: (changed: Opened) => void;
}

/** Blocks by key that are open or closed other than in the first picture. */
export interface Opened {
  open: readonly string[];
  closed: readonly string[];
}

export class Explorer {
  readonly hierarchies = new Map<string, Hierarchy>();
  readonly summaries: Map<string, GraphSummary>;
  readonly expanded = new Set<string>();
  readonly root: Hierarchy;
  scene: Scene | null = null;
  private readonly cache = new LayoutCache();
  private version = 0;
  /** What was open in the picture that is shown. */
  private shown: string[] = [];
  private latest: Promise<void> = Promise.resolve();
  private first: ReadonlySet<string> = new Set();

  constructor(
    graph: GraphData, graphs: GraphSummary[], private readonly loadGraph: (id: string) => Promise<GraphData>,
    private readonly measure: Measure, private readonly solve: Solver, private readonly events: ExplorerEvents,
  ) {
    this.summaries = new Map(graphs.map((summary) => [summary.id, summary]));
    this.root = new Hierarchy(graph);
    this.hierarchies.set(graph.id, this.root);
  }

  /** The first picture: what is alone is open, and what an address says. */
  async start(changed: Opened = { open: [], closed: [] }): Promise<void> {
    await firstExpansion(this);
    this.first = new Set(this.expanded);
    for (const key of changed.closed) this.expanded.delete(key);
    const wanted = new Set(changed.open);
    for (let found = true; found && wanted.size; ) {
      found = false;
      for (const block of blocksOf(this.blocks())) {
        if (!wanted.delete(block.key) || !block.expandable || block.expanded) continue;
        found = (await this.open(block)) || found;
      }
    }
    await this.refresh(null);
  }

  /** The blocks as they are open now. */
  blocks(): Block {
    return buildBlocks(this.root, this);
  }

  async load(id: string): Promise<Hierarchy> {
    const known = this.hierarchies.get(id);
    if (known) return known;
    const hierarchy = new Hierarchy(await this.loadGraph(id));
    this.hierarchies.set(id, hierarchy);
    return hierarchy;
  }

  /** Load the graphs that are called from those loaded, some at a time; the number that are still not loaded. */
  async loadCalled(): Promise<{ loaded: number; left: number }> {
    const called = new Set([...this.hierarchies.values()].flatMap((hierarchy) => [...hierarchy.graphs.values()].flat()));
    const missing = [...called].filter((id) => this.summaries.has(id) && !this.hierarchies.has(id));
    const now = missing.slice(0, Math.max(0, MOST_SEARCHED - this.hierarchies.size));
    await Promise.all(now.map((id) => this.load(id).catch(() => null)));
    return { loaded: now.length, left: missing.length - now.length };
  }

  /** Open or close a block. */
  async toggle(block: Block): Promise<void> {
    if (!block.expandable) return;
    if (this.expanded.has(block.key)) this.expanded.delete(block.key);
    else if (!(await this.open(block))) return;
    await this.refresh(block.key);
  }

  /** Open a block without drawing; false, with a notice, if that would show too many boxes. */
  async open(block: Block): Promise<boolean> {
    if (block.kind !== "scope" && block.calls.length === 1) {
      try {
        await this.load(block.calls[0]!);
      } catch (error) {
        this.events.onNotice(error instanceof Error ? error.message : String(error));
        return false;
      }
    }
    const more = this.childCount(block);
    if (this.scene && this.scene.blocks.length + more > 2 * MOST_BLOCKS) {
      this.events.onNotice(`"${block.title}" has ${more.toLocaleString("en")} boxes, too many to open along with the rest. Close some first.`);
      return false;
    }
    this.expanded.add(block.key);
    return true;
  }

  /** The number of boxes that opening a block adds. */
  childCount(block: Block): number {
    if (block.kind === "scope") return block.instance.hierarchy.children(block.item).length;
    const hierarchy = this.hierarchies.get(block.calls[0]!);
    return block.calls.length > 1 || !hierarchy ? block.calls.length : hierarchy.children(0).length;
  }

  /** Open everything, the outer blocks first, until there are too many boxes. */
  async expandAll(): Promise<void> {
    const notice = await expandAll(this);
    if (notice) this.events.onNotice(notice);
    await this.refresh(null);
  }

  async collapseAll(): Promise<void> {
    this.expanded.clear();
    await this.refresh(null);
  }

  /** Open what is around a node; the block that shows it, or null with a notice if there is none. */
  async reveal(address: NodeAddress): Promise<Target | null> {
    const path = await callPath(this, address.graph);
    const hierarchy = this.hierarchies.get(address.graph);
    const node = hierarchy?.nodeNamed(address.node);
    if (!path || !hierarchy || node === undefined) return null;
    const keys = path.flatMap((step) => this.keysAround(step.instance, step.hierarchy, step.item).concat(step.inside));
    const instance = path.length ? path[path.length - 1]!.called : this.root.graph.id;
    const item = hierarchy.itemShowing(node);
    keys.push(...this.keysAround(instance, hierarchy, item));
    const closed = keys.filter((key) => !this.expanded.has(key));
    for (const key of closed) this.expanded.add(key);
    if (closed.length || !this.scene) await this.refresh(null);
    const block = this.scene?.byKey.get(`${instance}|${item}`);
    if (!block) return null;
    const place = block.satellites.findIndex((s) => s.node === node || s.via.includes(node));
    const beside = hierarchy.isSatellite(node) ? (place >= 0 ? place : block.satellites.length) : -1;
    return { block, satellite: beside };
  }

  private keysAround(instance: string, hierarchy: Hierarchy, item: number): string[] {
    const keys: string[] = [];
    for (let at = hierarchy.tree.parent[item]!; at > 0; at = hierarchy.tree.parent[at]!) keys.push(`${instance}|${at}`);
    return keys;
  }

  /** Lay out and compose the scene anew. A later call makes an earlier one void, which then waits for it. */
  refresh(steady: string | null): Promise<void> {
    return (this.latest = this.compose(steady));
  }

  private async compose(steady: string | null): Promise<void> {
    const version = ++this.version;
    const root = this.blocks();
    const open = [...this.expanded];
    this.events.onBusy?.(true);
    const arranged = await arrange(root, this.measure, this.cache, this.solve).catch((error: unknown) => ({ error }));
    if (version !== this.version) return this.latest;
    this.events.onBusy?.(false);
    if ("error" in arranged) return this.giveUp(arranged.error);
    this.shown = open;
    this.scene = composeScene(root, arranged, this.measure);
    this.events.onScene(this.scene, steady);
    this.events.onOpened?.({
      open: open.filter((key) => !this.first.has(key)),
      closed: [...this.first].filter((key) => !this.expanded.has(key)),
    });
  }

  /** The picture stays as it was, and so does what is open. */
  private giveUp(error: unknown): void {
    this.expanded.clear();
    for (const key of this.shown) this.expanded.add(key);
    this.events.onNotice(error instanceof Error ? error.message : String(error));
  }
}
