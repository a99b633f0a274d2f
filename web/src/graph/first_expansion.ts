/** Which blocks are open at first: small graphs entirely, else what is alone or by far the largest. */
import type { GraphSummary } from "../api/types";
import { blocksOf, type Block } from "./scene/block";

/** A graph with at most this many boxes is shown whole. */
const SMALL = 60;
/** What holds this part of all nodes in sight is opened, if it has not too many boxes itself. */
const MAIN_PART = 0.6;
const MOST_CHILDREN = 60;
const DEEPEST = 10;
/** Functions that save and restore variables are not what a model is about. */
const HOUSEKEEPING = /traced_(save|restore)|^save|^saver|_save_|_restore_/;

interface Openable {
  expanded: Set<string>;
  blocks: () => Block;
  load: (id: string) => Promise<unknown>;
  summaries: ReadonlyMap<string, GraphSummary>;
}

export async function firstExpansion(explorer: Openable): Promise<void> {
  const opened = new Set<string>();
  for (let depth = 0; depth < DEEPEST; depth++) {
    const closed = closedBlocks(explorer).filter((block) => !opened.has(block.key));
    const total = closed.reduce((sum, block) => sum + weightOf(block), 0);
    const main = closed.find((block) => weightOf(block) >= MAIN_PART * total || closed.length === 1);
    if (!main) break;
    opened.add(main.key);
    await openQuietly(explorer, main);
    if (childCount(explorer, main) > MOST_CHILDREN && closed.length > 1) {
      explorer.expanded.delete(main.key);
      break;
    }
  }
  openSmall(explorer);
}

function closedBlocks(explorer: Openable): Block[] {
  return blocksOf(explorer.blocks()).slice(1)
    .filter((block) => block.expandable && !block.expanded && !isHousekeeping(explorer, block));
}

/** How much of the model a block is: calls may hide more than the function itself has. */
function weightOf(block: Block): number {
  return block.kind === "node" ? Math.max(block.size, 20) : block.size;
}

function childCount(explorer: Openable, opened: Block): number {
  for (const block of blocksOf(explorer.blocks())) if (block.key === opened.key) return block.children.length;
  return 0;
}

/** Calls of functions that save, scopes of that kind, and what is alike or left over. */
function isHousekeeping(explorer: Openable, block: Block): boolean {
  if (block.kind === "scope" && block.instance.hierarchy.isGroup(block.item)) return true;
  const names = [block.title, ...block.calls.map((id) => explorer.summaries.get(id)?.name ?? "")];
  return names.some((name) => HOUSEKEEPING.test(name));
}

async function openQuietly(explorer: Openable, block: Block): Promise<void> {
  try {
    if (block.kind !== "scope" && block.calls.length === 1) await explorer.load(block.calls[0]!);
    explorer.expanded.add(block.key);
  } catch {
    // The graph cannot be loaded: its block stays closed, and opening it says why.
  }
}

/** Open scopes while the whole stays small. */
function openSmall(explorer: Openable): void {
  for (;;) {
    const shown = blocksOf(explorer.blocks()).slice(1);
    const scopes = shown.filter((block) => block.kind === "scope" && !block.expanded && !isHousekeeping(explorer, block));
    const total = shown.length + scopes.reduce((sum, block) => sum + block.size, 0);
    if (!scopes.length || total > SMALL) return;
    for (const block of scopes) explorer.expanded.add(block.key);
  }
}
