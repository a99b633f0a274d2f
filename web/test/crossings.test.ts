import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphData } from "../src/api/types";
import { highlightOf } from "../src/graph/paint/state";
import type { Scene } from "../src/graph/scene/scene";
import { checkAll, explore } from "./explored";
import { graphOf } from "./graphs";

/** The routes from box to box: the pieces of an edge of the graph, joined where they go through frames. */
function routes(scene: Scene): string[] {
  const near = (a: number, b: number) => Math.abs(a - b) < 0.6;
  const start = ({ points }: { points: Float32Array }) => [points[0]!, points[1]!];
  const end = ({ points }: { points: Float32Array }) => [points[points.length - 2]!, points[points.length - 1]!];
  const found: string[] = [];
  const walk = (edge: Scene["edges"][number], from: string) => {
    const next = scene.edges.filter((other) => other !== edge && near(start(other)[0]!, end(edge)[0]!) && near(start(other)[1]!, end(edge)[1]!) && (!other.from || other.from.expanded));
    if (next.length) for (const other of next) walk(other, from);
    else found.push(`${from} > ${edge.to?.title ?? "nowhere"}`);
  };
  for (const edge of scene.edges) if (edge.from && !edge.from.expanded && edge.points.length) walk(edge, edge.from.title);
  return found.sort();
}

const f = graphOf("a = _Arg()\nb = _Arg()\ns/sum = Add(a, b)\ns/relu = Relu(s/sum)\nr = _Retval(s/relu)", "f");
const g = graphOf("c = _Arg()\nd = _Arg()\nmul = Mul(c, d)\nq = _Retval(mul)", "g");
const test_ = graphOf("e = _Arg()\nh = _Arg()\nless = Less(e, h)\nt = _Retval(less)", "test");

async function open(main: GraphData, others: GraphData[]) {
  const explorer = await explore(main, others);
  await explorer.expandAll();
  checkAll(explorer.scene!, "all open");
  return explorer.scene!;
}

test("the edges of a call go on to its arguments, and come from its results", async () => {
  const scene = await open(graphOf("x = Placeholder()\ny = Placeholder()\ncall = PartitionedCall(x, y) -> f\nz = Tanh(call)"), [f]);
  const all = routes(scene);
  for (const route of ["x > a", "y > b", "r > Tanh", "a > Add"]) assert(all.includes(route), `${route} in ${all.join(", ")}`);
  assert(!all.some((route) => route.endsWith("nowhere")), all.join(", "));
});

test("branches get all but the condition, and both return", async () => {
  const scene = await open(graphOf("p = Placeholder()\nx = Placeholder()\ny = Placeholder()\nif = If(p, x, y) -> f g\nz = Tanh(if)"), [f, g]);
  const all = routes(scene);
  for (const route of ["x > a", "x > c", "y > b", "y > d", "r > Tanh", "q > Tanh"]) assert(all.includes(route), `${route} in ${all.join(", ")}`);
  assert(!all.includes("p > a"));
});

test("a loop passes its inputs to condition and body, and returns what the body does", async () => {
  const scene = await open(graphOf("x = Placeholder()\ny = Placeholder()\nloop = While(x, y) -> test g\nz = Tanh(loop)"), [test_, g]);
  const all = routes(scene);
  for (const route of ["x > e", "y > h", "x > c", "y > d", "q > Tanh"]) assert(all.includes(route), `${route} in ${all.join(", ")}`);
  assert(!all.includes("t > Tanh"));
});

test("a closed branch is joined with the frame around it", async () => {
  const explorer = await explore(graphOf("p = Placeholder()\nx = Placeholder()\ny = Placeholder()\nif = If(p, x, y) -> f g\nz = Tanh(if)"), [f, g]);
  await explorer.collapseAll();
  await explorer.toggle(explorer.scene!.blocks.find(({ expandable }) => expandable)!);
  checkAll(explorer.scene!, "one level");
  assert.deepEqual(routes(explorer.scene!).filter((route) => route.endsWith("> f")), ["x > f", "y > f"]);
});

test("a call whose arguments come from elsewhere is not joined", async () => {
  const main = graphOf("x = Placeholder()\nmap = MapDataset(x) -> f\nz = Tanh(map)");
  main.calls = [{ node: 1, graphs: ["f"], first_input: null, results: [] }];
  assert(!routes(await open(main, [f])).includes("x > a"));
});

test("a call inside of scopes and calls is joined through all frames", async () => {
  const outer = graphOf("m = _Arg()\nn = _Arg()\nk/deep/call = PartitionedCall(m, n) -> f\nk/deep/id = Relu(k/deep/call)\nw = _Retval(k/deep/id)", "outer");
  const scene = await open(graphOf("x = Placeholder()\ny = Placeholder()\ns/call = PartitionedCall(x, y) -> outer\ns/id = Relu(s/call)\nz = Tanh(s/id)"), [outer, f]);
  const all = routes(scene);
  for (const route of ["x > m", "m > a", "n > b", "r > Relu", "w > Relu"]) assert(all.includes(route), `${route} in ${all.join(", ")}`);
});

test("an argument that is selected shows the way back to what is passed", async () => {
  const scene = await open(graphOf("x = Placeholder()\ny = Placeholder()\ncall = PartitionedCall(x, y) -> f\nz = Tanh(call)"), [f]);
  const block = scene.blocks.find(({ title }) => title === "a")!;
  const { into, out } = highlightOf(scene, { block, satellite: -1 });
  assert.equal([...into].filter(({ from }) => from?.title === "x").length, 1);
  assert.equal([...into].filter(({ to }) => to === block).length, 1);
  assert.equal([...out].filter(({ from }) => from === block).length, 1);
});
