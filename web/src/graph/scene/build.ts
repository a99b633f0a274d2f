/** From graphs and what is expanded to the tree of blocks that the picture shows. */
import { Role, type GraphSummary } from "../../api/types";
import type { Hierarchy } from "../hierarchy/hierarchy";
import { boundaryOf } from "./crossings";
import { blockKey, instanceKey, type Block, type Instance } from "./block";

/** Constants and variables beside a node that are drawn; the rest are counted. */
const MOST_SATELLITES = 4;

/** What the picture is made from. */
export interface Expansion {
  expanded: ReadonlySet<string>;
  hierarchies: ReadonlyMap<string, Hierarchy>;
  summaries: ReadonlyMap<string, GraphSummary>;
}

/** The block of a displayed graph; its children are what is at its top. */
export function buildBlocks(hierarchy: Hierarchy, expansion: Expansion): Block {
  const instance: Instance = { key: hierarchy.graph.id, hierarchy, inside: "", boundary: null };
  const root = emptyBlock(instance, 0, "scope");
  root.expanded = true;
  root.size = hierarchy.size[0]!;
  root.inner = { instance, scope: 0 };
  fillChildren(root, expansion);
  return root;
}

function emptyBlock(instance: Instance, item: number, kind: Block["kind"]): Block {
  return {
    key: blockKey(instance, item), kind, instance, item, title: "", subtitle: "", size: 0, calls: [],
    expandable: false, expanded: false, children: [], inner: null, satellites: [], moreSatellites: 0,
    depth: 0, parent: null, x: 0, y: 0, width: 0, height: 0, left: 0,
  };
}

/** Iterative: scopes may be nested deeply, and functions may call each other many levels down. */
function fillChildren(root: Block, expansion: Expansion): void {
  const open = [root];
  while (open.length) {
    const block = open.pop()!;
    block.children = block.inner ? childrenOf(block.inner, expansion) : calledGraphs(block, expansion);
    for (const child of block.children) {
      child.parent = block;
      child.depth = block.depth + 1;
      if (child.expanded) open.push(child);
    }
  }
}

function childrenOf(inner: { instance: Instance; scope: number }, expansion: Expansion): Block[] {
  const { instance, scope } = inner;
  return instance.hierarchy.children(scope).map((item) =>
    instance.hierarchy.isScope(item) ? scopeBlock(instance, item, expansion) : nodeBlock(instance, item, expansion),
  );
}

function scopeBlock(instance: Instance, item: number, expansion: Expansion): Block {
  const block = emptyBlock(instance, item, "scope");
  block.title = instance.hierarchy.label(item) || "/";
  block.size = instance.hierarchy.size[item]!;
  block.subtitle = `${block.size.toLocaleString("en")} nodes`;
  block.expandable = true;
  block.expanded = expansion.expanded.has(block.key);
  if (block.expanded) block.inner = { instance, scope: item };
  return block;
}

function nodeBlock(instance: Instance, item: number, expansion: Expansion): Block {
  const { hierarchy } = instance;
  const node = hierarchy.nodeOf(item);
  const block = emptyBlock(instance, item, "node");
  const satellites = hierarchy.satellitesOf(node);
  const shown = satellites.length > MOST_SATELLITES ? MOST_SATELLITES - 1 : satellites.length;
  block.satellites = satellites.slice(0, shown);
  block.moreSatellites = satellites.length - shown;
  block.calls = hierarchy.callsOf(node).filter((id) => expansion.summaries.has(id));
  block.size = block.calls.reduce((sum, id) => sum + expansion.summaries.get(id)!.nodes, 0);
  block.expandable = block.calls.length > 0;
  block.expanded = block.expandable && expansion.expanded.has(block.key) && isLoaded(block.calls, expansion);
  if (block.expanded && block.calls.length === 1) block.inner = { instance: called(block, 0, expansion), scope: 0 };
  Object.assign(block, nodeTexts(hierarchy, item, block.calls.map((id) => expansion.summaries.get(id)!.name)));
  return block;
}

/** Op and name; the name first for inputs and outputs, the name of the function for a call. */
function nodeTexts(hierarchy: Hierarchy, item: number, calls: string[]): { title: string; subtitle: string } {
  const node = hierarchy.nodeOf(item);
  const op = hierarchy.opOf(node) || "(no op)";
  const label = hierarchy.label(item);
  const role = hierarchy.graph.role[node];
  if (role === Role.Input || role === Role.Output) return { title: label, subtitle: ENDS[op] ?? op };
  if (calls.length === 1) return { title: label, subtitle: `ƒ ${readableFunction(calls[0]!)}` };
  return { title: op, subtitle: label === op ? "" : label };
}

const ENDS: Record<string, string> = { _Arg: "argument", _Retval: "result", Placeholder: "input" };

/** A function's name without the marks that TensorFlow puts around it. */
export function readableFunction(name: string): string {
  return name.replace(/^__(inference|forward|backward)_+/, "").replace(/(_\d+)+$/, "") || name;
}

function isLoaded(calls: string[], expansion: Expansion): boolean {
  return calls.length > 1 || calls.every((id) => expansion.hierarchies.has(id));
}

function called(block: Block, index: number, expansion: Expansion): Instance {
  const key = instanceKey(block.key, index);
  const hierarchy = expansion.hierarchies.get(block.calls[index]!)!;
  return { key, hierarchy, inside: block.key, boundary: boundaryOf(block.instance, block.item, hierarchy) };
}

/** The branches of an `If`, the condition and body of a `While`: a block each. */
function calledGraphs(block: Block, expansion: Expansion): Block[] {
  return block.calls.map((id, index) => {
    const summary = expansion.summaries.get(id)!;
    const child = emptyBlock(block.instance, block.item, "graph");
    child.key = instanceKey(block.key, index);
    child.title = readableFunction(summary.name);
    child.size = summary.nodes;
    child.subtitle = `${summary.nodes.toLocaleString("en")} nodes`;
    child.calls = [id];
    child.expandable = true;
    child.expanded = expansion.expanded.has(child.key) && expansion.hierarchies.has(id);
    if (child.expanded) child.inner = { instance: { ...called(block, index, expansion), inside: child.key }, scope: 0 };
    return child;
  });
}
