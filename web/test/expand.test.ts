import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphData } from "../src/api/types";
import { MOST_LOADS } from "../src/graph/expand_all";
import { Explorer } from "../src/graph/explorer";
import { layoutAll } from "../src/graph/layout/layered";
import type { Solver } from "../src/graph/scene/arrange";
import { graphOf } from "./graphs";

const measure = (text: string) => 6.5 * text.length;
const inPage: Solver = (problems) => Promise.resolve(layoutAll(problems));

/** An explorer of a graph and what it calls, and the sentences that it says. */
async function explore(graph: GraphData, others: GraphData[], solve = inPage, broken = ""): Promise<{ explorer: Explorer; notices: string[] }> {
  const all = [graph, ...others];
  const notices: string[] = [];
  const summaries = all.map(({ id, name, kind, names }) => ({ id, name, kind, nodes: names.length, callers: 0, signatures: [] }));
  const load = (id: string) => (id === broken ? Promise.reject(new Error("gone")) : Promise.resolve(all.find((g) => g.id === id)!));
  const explorer = new Explorer(graph, summaries, load, measure, solve, { onScene: () => {}, onNotice: (sentence) => notices.push(sentence) });
  await explorer.start();
  return { explorer, notices };
}

function callerOf(count: number): [GraphData, GraphData[]] {
  const functions = Array.from({ length: count }, (_, k) => graphOf("a = _Arg()\nb = Relu(a)", `f${k}`));
  return [graphOf(functions.map(({ id }) => `call_${id} = PartitionedCall() -> ${id}`).join("\n")), functions];
}

test("the limit that stops it is the one that is named, and the next press goes on", async () => {
  const { explorer, notices } = await explore(...callerOf(MOST_LOADS + 3));
  await explorer.collapseAll();
  await explorer.expandAll();
  assert(/^3 functions are not open yet: .* loads at most 40/.test(notices.pop()!));
  await explorer.expandAll();
  assert.deepEqual(notices, []);
  assert.equal(explorer.scene!.blocks.filter((block) => block.expanded).length, MOST_LOADS + 3);
});

test("too many boxes are named as such", async () => {
  const wide = graphOf(Array.from({ length: 19_000 }, (_, k) => `n${k} = Op${k}()`).join("\n"), "f0");
  const { explorer, notices } = await explore(graphOf("a = PartitionedCall() -> f0\nb = PartitionedCall() -> f0"), [wide]);
  await explorer.collapseAll();
  await explorer.expandAll();
  assert(/^1 box stays closed: at most 20,000 boxes/.test(notices.pop()!));
});

test("a function that cannot be loaded does not stop the others", async () => {
  const { explorer, notices } = await explore(...callerOf(3), inPage, "f1");
  await explorer.collapseAll();
  await explorer.expandAll();
  assert.equal(notices.pop(), "1 function could not be loaded.");
  assert.equal(explorer.scene!.blocks.filter((block) => block.expanded).length, 2);
});

test("after a failed layout, the picture and what is open are as before", async () => {
  let works = true;
  const { explorer, notices } = await explore(...callerOf(2), (problems) => (works ? inPage(problems) : Promise.reject(new Error("stopped"))));
  await explorer.collapseAll();
  const before = explorer.scene;
  works = false;
  await explorer.toggle(before!.blocks[0]!);
  assert.deepEqual([notices, explorer.scene, [...explorer.expanded]], [["stopped"], before, []]);
  works = true;
  await explorer.toggle(before!.blocks[0]!);
  assert(explorer.scene !== before);
});

test("at first, a large part of a graph stays closed if it has too many boxes to see at once", async () => {
  const chain = (scope: string, count: number) => Array.from({ length: count }, (_, k) => `${scope}/n${k} = Op${k}(${k ? `${scope}/n${k - 1}` : "x"})`);
  const graph = graphOf(["x = Placeholder()", ...chain("large", 100), ...chain("small", 30)].join("\n"));
  const { explorer } = await explore(graph, []);
  assert.deepEqual(explorer.scene!.blocks.map(({ title }) => title), ["x", "large", "small"]);
  const less = await explore(graphOf(["x = Placeholder()", ...chain("main", 50), ...chain("small", 30)].join("\n")), []);
  assert(less.explorer.scene!.blocks.some(({ title, expanded }) => title === "main" && expanded));
});
