import assert from "node:assert/strict";
import { test } from "node:test";
import { Explorer } from "../src/graph/explorer";
import { layoutAll } from "../src/graph/layout/layered";
import { checkAll, explore, measure, SLACK } from "./explored";
import { graphOf, randomGraph } from "./graphs";

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
