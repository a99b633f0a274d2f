import assert from "node:assert/strict";
import { test } from "node:test";
import { findNodes } from "../src/graph/find_nodes";
import { Hierarchy } from "../src/graph/hierarchy/hierarchy";
import { matchNodes, parseQuery } from "../src/graph/search";
import { graphOf } from "./graphs";

const graph = graphOf(`
  in = Placeholder()
  enc/MatMul = BatchMatMulV2(in)
  enc/MatMul_1 = MatMul(enc/MatMul)
  enc/drop out = Relu(enc/MatMul_1)
  dec/MatMul = MatMulGrad(enc/drop out)
`);
graph.types = ["float32 [2]", "bfloat16 [2]"];
graph.edge_type = [0, 1, 0, 0];

const CASES: [query: string, names: string[]][] = [
  ["", []],
  ["matmul", ["enc/MatMul", "enc/MatMul_1", "dec/MatMul"]],
  ["enc matmul", ["enc/MatMul", "enc/MatMul_1"]],
  ["op:MatMul", ["enc/MatMul_1"]],
  ["op:BatchMat", ["enc/MatMul"]],
  ["name:matmul -op:MatMul", ["enc/MatMul", "dec/MatMul"]],
  ["dtype:bfloat16", ["enc/MatMul", "enc/MatMul_1"]],
  ["dtype:bfloat1", []],
  ['"drop out"', ["enc/drop out"]],
  ["-enc -dec", ["in"]],
  ["finding:TFP1", ["enc/MatMul"]],
  ["-finding:tfp101 op:matmul", ["enc/MatMul_1"]],
  ["foo:bar", []],
];
const findings = new Map([["TFP101", new Map([["main", new Set(["enc/MatMul"])]])]]);

test("queries match the nodes that they say", () => {
  for (const [query, names] of CASES) {
    const matched = matchNodes(graph, parseQuery(query), findings).map((node) => graph.names[node]);
    assert.deepEqual(matched, names, query);
  }
});

test("terms are parsed with fields, quotes and exclusion", () => {
  assert.deepEqual(parseQuery('-attr:padding=SAME name:"a b" plain x:y'), [
    { field: "attr", value: "padding=SAME", exclude: true },
    { field: "name", value: "a b", exclude: false },
    { field: "text", value: "plain", exclude: false },
    { field: "text", value: "x:y", exclude: false },
  ]);
});

test("attributes are asked from the server, and joined with the rest", async () => {
  const hierarchies = new Map([["main", new Hierarchy(graph)]]);
  const asked: string[] = [];
  const search = (query: string) => {
    asked.push(query);
    return Promise.resolve({ version: 1 as const, total: 2, matches: [{ graph: "main", node: "enc/MatMul" }, { graph: "other", node: "z" }] });
  };
  const found = await findNodes("enc attr:T", { hierarchies, search });
  assert.deepEqual(asked, ["attr:T"]);
  assert.deepEqual(found.matches, [{ graph: "main", node: "enc/MatMul" }]);
  const alone = await findNodes('attr:"T=a b"', { hierarchies, search });
  assert.equal(asked.pop(), 'attr:"T=a b"');
  assert.deepEqual(alone.matches, [{ graph: "main", node: "enc/MatMul" }]);
  const without = await findNodes("enc -attr:T", { hierarchies, search });
  assert.deepEqual(without.matches.map(({ node }) => node), ["enc/MatMul_1", "enc/drop out"]);
  assert((await findNodes("attr:T", { hierarchies })).note.includes("tfport ui"));
});

test("a page with attributes searches them itself", async () => {
  const own = { ...graph, attributes: { texts: ["padding=SAME", "Padding=VALID", "T=float32"], nodes: [[], [0, 2], [1], [2], [2]] } };
  const hierarchies = new Map([["main", new Hierarchy(own)]]);
  const names = async (query: string) => (await findNodes(query, { hierarchies })).matches.map(({ node }) => node);
  assert.deepEqual(await names("attr:padding"), ["enc/MatMul", "enc/MatMul_1"]);
  assert.deepEqual(await names("attr:padding=same"), ["enc/MatMul"]);
  assert.deepEqual(await names("-attr:T=float attr:padding"), ["enc/MatMul_1"]);
});

test("findings can be searched after a check only, and the search says so", async () => {
  const hierarchies = new Map([["main", new Hierarchy(graph)]]);
  assert((await findNodes("finding:TFP101", { hierarchies })).note.includes("Verdicts"));
  assert.equal((await findNodes("finding:TFP999", { hierarchies, findings })).note, "");
});
