/** Opens everything, the outer blocks first, until a limit is reached. */
import type { Hierarchy } from "./hierarchy/hierarchy";
import { blocksOf, type Block } from "./scene/block";

/** At most this many boxes are shown at once. */
export const MOST_BLOCKS = 20_000;
/** At most this many graphs are loaded by one press of the button. */
export const MOST_LOADS = 40;

interface Openable {
  expanded: Set<string>;
  hierarchies: ReadonlyMap<string, Hierarchy>;
  blocks: () => Block;
  load: (id: string) => Promise<unknown>;
  childCount: (block: Block) => number;
}

/** What stayed closed, by the reason. */
interface Closed {
  boxes: number;
  graphs: Set<string>;
  failed: Set<string>;
}

/** Open what can be opened; the answer says what stayed closed and why, or is empty. */
export async function expandAll(explorer: Openable): Promise<string> {
  const failed = new Set<string>();
  let loads = 0;
  for (;;) {
    const closed: Closed = { boxes: 0, graphs: new Set(), failed };
    let opened = false;
    const blocks = blocksOf(explorer.blocks());
    let count = blocks.length;
    for (const block of blocks) {
      if (!block.expandable || block.expanded) continue;
      const graph = graphToLoad(explorer, block);
      if (graph !== null && failed.has(graph)) continue;
      if (graph !== null && loads >= MOST_LOADS) {
        closed.graphs.add(graph);
        continue;
      }
      if (graph !== null) {
        loads++;
        await explorer.load(graph).catch(() => failed.add(graph));
        if (failed.has(graph)) continue;
      }
      const more = explorer.childCount(block);
      if (count + more > MOST_BLOCKS) closed.boxes++;
      else {
        count += more;
        explorer.expanded.add(block.key);
        opened = true;
      }
    }
    if (!opened) return sentenceOf(closed);
  }
}

/** The graph that must be loaded before a block can be opened, if any. */
function graphToLoad(explorer: Openable, block: Block): string | null {
  const [graph, ...others] = block.kind === "scope" ? [] : block.calls;
  return graph === undefined || others.length || explorer.hierarchies.has(graph) ? null : graph;
}

function sentenceOf({ boxes, graphs, failed }: Closed): string {
  const sentences: string[] = [];
  if (boxes) sentences.push(`${counted(boxes, "box stays", "boxes stay")} closed: at most ${MOST_BLOCKS.toLocaleString("en")} boxes are shown at once.`);
  if (graphs.size) {
    sentences.push(`${counted(graphs.size, "function is", "functions are")} not open yet: each press of "Expand all" loads at most ${MOST_LOADS}. Press it again for more.`);
  }
  if (failed.size) sentences.push(`${counted(failed.size, "function", "functions")} could not be loaded.`);
  return sentences.join(" ");
}

function counted(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
