import assert from "node:assert/strict";
import { test } from "node:test";
import { Explorer } from "../src/graph/explorer";
import { layoutAll } from "../src/graph/layout/layered";
import type { Block } from "../src/graph/scene/block";
import type { Scene } from "../src/graph/scene/scene";
import { graphOf, randomGraph } from "./graphs";
import type { GraphData } from "../src/api/types";

const measure = (text: string) => 6.5 * Math.min(text.length, 100);

async function explore(graph: GraphData, others: GraphData[] = []): Promise<Explorer> {
  const all = [graph, ...others];
  const summaries = all.map(({ id, name, kind, names }) => ({ id, name, kind, nodes: names.length, callers: 0, signatures: [] }));
  const explorer = new Explorer(
    graph, summaries, (id) => Promise.resolve(all.find((g) => g.id === id)!), measure,
    (problems) => Promise.resolve(layoutAll(problems)), { onScene: () => {}, onNotice: (sentence) => assert.equal(sentence, "") },
  );
  await explorer.start();
  return explorer;
}

const SLACK = 0.51;
const inside = (inner: Block, outer: Block) =>
  inner.left >= outer.x - SLACK && inner.x + inner.width <= outer.x + outer.width + SLACK &&
  inner.y >= outer.y - SLACK && inner.y + inner.height <= outer.y + outer.height + SLACK;
const apart = (a: Block, b: Block) =>
  a.x + a.width <= b.left + SLACK || b.x + b.width <= a.left + SLACK || a.y + a.height <= b.y + SLACK || b.y + b.height <= a.y + SLACK;

function checkBoxes(scene: Scene, what: string): void {
  for (const parent of [scene.root, ...scene.blocks]) {
    for (const [k, a] of parent.children.entries()) {
      assert(inside(a, parent), `${what}: ${a.key} leaves ${parent.key}`);
      for (const b of parent.children.slice(k + 1)) assert(apart(a, b), `${what}: ${a.title} overlaps ${b.title}`);
    }
  }
}

/** Ends are on the border of the box, or of the scope for what goes through it. */
function checkEdges(scene: Scene, what: string): void {
  const near = (value: number, ...wanted: number[]) => wanted.some((w) => Math.abs(value - w) < SLACK);
  for (const { points, from, to, within } of scene.edges) {
    if (!points.length) continue;
    const last = points.length - 2;
    for (const [box, x, y] of [[from ?? within, points[0]!, points[1]!], [to ?? within, points[last]!, points[last + 1]!]] as const) {
      assert(x >= box.x - SLACK && x <= box.x + box.width + SLACK, `${what}: an edge misses ${box.title}`);
      assert(near(y, box.y, box.y + box.height), `${what}: an edge ends at ${y}, not on ${box.title} at ${box.y}`);
    }
  }
}

/** Edges pass between boxes, except the one that they start from or lead to. */
function checkClearance(scene: Scene, what: string): void {
  for (const { points, from, to, within } of scene.edges) {
    for (let k = 0; k + 3 < points.length; k += 2) {
      if (points[k] !== points[k + 2]) continue;
      const [x, top, bottom] = [points[k]!, Math.min(points[k + 1]!, points[k + 3]!), Math.max(points[k + 1]!, points[k + 3]!)];
      for (const box of within.children) {
        if (box === from || box === to) continue;
        const crosses = x > box.x + 1 && x < box.x + box.width - 1 && top < box.y + box.height - 1 && bottom > box.y + 1;
        assert(!crosses, `${what}: an edge crosses ${box.title}`);
      }
    }
  }
}

function checkAll(scene: Scene, what: string): void {
  checkBoxes(scene, what);
  checkEdges(scene, what);
  checkClearance(scene, what);
}

test("boxes do not overlap and edges end on them, closed and open, with cycles too", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const explorer = await explore(randomGraph(20 + 25 * seed, seed, seed % 3 === 0));
    checkAll(explorer.scene!, `seed ${seed}`);
    await explorer.expandAll();
    checkAll(explorer.scene!, `seed ${seed}, all open`);
    await explorer.collapseAll();
    checkAll(explorer.scene!, `seed ${seed}, all closed`);
  }
});

test("what has no cycle is drawn from top to bottom", async () => {
  const explorer = await explore(randomGraph(150, 7));
  const leaves = explorer.root.children(0).every((item) => !explorer.root.isScope(item));
  await explorer.expandAll();
  for (const { from, to } of explorer.scene!.edges) {
    if (leaves && from && to) assert(from.y + from.height <= to.y + SLACK, `${from.title} is not above ${to.title}`);
  }
});

test("many inputs of one node are wrapped into rows", async () => {
  const ops = ["Add", "Mul", "Sub", "Div", "Max"];
  const many = Array.from({ length: 400 }, (_, k) => `n${k} = ${ops[k % 5]}${k}()`);
  const graph = graphOf([...many, `hub = AddN(${many.map((_, k) => `n${k}`).join(", ")})`].join("\n"), "function");
  const explorer = await explore(graph);
  checkAll(explorer.scene!, "hub");
  const oneRow = explorer.scene!.blocks.reduce((sum, block) => sum + block.width, 0);
  assert(explorer.scene!.width < oneRow, `${explorer.scene!.width} is as wide as one row of ${oneRow}`);
});

test("a call opens into its function, and a node in there is revealed", async () => {
  const main = graphOf("x = Placeholder()\ny = StatefulPartitionedCall(x) -> f\nz = Relu(y)\nif = If(z) -> f g");
  const f = graphOf("a = _Arg()\ns/b = Relu(a)\ns/c = Relu(s/b)\nr = _Retval(s/c)", "f");
  const g = graphOf("a = _Arg()\ns/d = Relu(a)\ns/e = Relu(s/d)", "g");
  const explorer = await explore(main, [f, g]);
  await explorer.collapseAll();
  const direct = await explorer.reveal({ graph: "f", node: "s/c" });
  assert.equal(direct?.block.instance.inside, "main|2");
  checkAll(explorer.scene!, "call");
  const branch = await explorer.reveal({ graph: "g", node: "s/e" });
  assert.equal(branch?.block.title, "Relu");
  assert.equal(branch?.block.parent?.parent?.kind, "graph");
  checkAll(explorer.scene!, "branch");
  assert.equal(await explorer.reveal({ graph: "g", node: "nowhere" }), null);
});

test("the same scope is laid out once", async () => {
  let solved = 0;
  const graph = randomGraph(200, 3);
  const explorer = new Explorer(graph, [], () => Promise.reject(new Error("none")), measure, (problems) => {
    solved += problems.filter((problem) => "rim" in problem).length;
    return Promise.resolve(layoutAll(problems));
  }, { onScene: () => {}, onNotice: () => {} });
  await explorer.start();
  await explorer.expandAll();
  const before = solved;
  await explorer.collapseAll();
  const closed = solved;
  await explorer.expandAll();
  assert.equal(solved, closed);
  assert(closed - before <= 1);
});
