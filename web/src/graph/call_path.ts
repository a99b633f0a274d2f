/** The way from the displayed graph to one that it calls, directly or through others. */
import type { Hierarchy } from "./hierarchy/hierarchy";
import { instanceKey } from "./scene/block";

/** One call on the way: the node, the graph it is in at its place, and the place of what it calls. */
export interface CallStep {
  instance: string;
  hierarchy: Hierarchy;
  item: number;
  /** The keys of the blocks to open: the node's, and that of the graph if the node calls several. */
  inside: string[];
  called: string;
}

interface Loader {
  root: Hierarchy;
  load: (id: string) => Promise<Hierarchy>;
}

const MOST_GRAPHS = 400;

/** The shortest way to a graph, loading graphs as needed; null if there is none. */
export async function callPath(loader: Loader, id: string): Promise<CallStep[] | null> {
  const open: { hierarchy: Hierarchy; instance: string; steps: CallStep[] }[] = [
    { hierarchy: loader.root, instance: loader.root.graph.id, steps: [] },
  ];
  const seen = new Set([loader.root.graph.id]);
  for (let k = 0; k < open.length && k < MOST_GRAPHS; k++) {
    const { hierarchy, instance, steps } = open[k]!;
    if (hierarchy.graph.id === id) return steps;
    for (const [node, graphs] of hierarchy.graphs) {
      for (const [index, called] of graphs.entries()) {
        if (seen.has(called)) continue;
        seen.add(called);
        const item = hierarchy.itemShowing(node);
        const key = `${instance}|${item}`;
        const place = instanceKey(key, index);
        const step = { instance, hierarchy, item, inside: graphs.length > 1 ? [key, place] : [key], called: place };
        open.push({ hierarchy: await loader.load(called), instance: place, steps: [...steps, step] });
      }
    }
  }
  return null;
}
