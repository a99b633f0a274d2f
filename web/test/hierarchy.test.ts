import assert from "node:assert/strict";
import { test } from "node:test";
import { Hierarchy } from "../src/graph/hierarchy/hierarchy";
import { restrictGraph, signatureParts } from "../src/graph/parts";
import { graphOf, randomGraph } from "./graphs";

/** The tree as indented labels. */
function outline(hierarchy: Hierarchy, item = 0, indent = ""): string[] {
  return hierarchy.children(item).flatMap((child) => [
    indent + hierarchy.label(child) + (hierarchy.isScope(child) ? "/" : ""), ...outline(hierarchy, child, indent + "  "),
  ]);
}

test("scopes nest, chains of scopes are one, a scope of one node is not shown", () => {
  const hierarchy = new Hierarchy(graphOf(`
    x = Placeholder()
    a/b/c/one = Relu(x)
    a/b/c/two = Relu(a/b/c/one)
    d/only = Relu(a/b/c/two)
  `));
  assert.deepEqual(new Set(outline(hierarchy)), new Set(["x", "a/b/c/", "  one", "  two", "d/only"]));
});

test("a node with the name of a scope is inside of it", () => {
  const hierarchy = new Hierarchy(graphOf(`
    x = Placeholder()
    dense = Relu(x)
    dense/sub = Relu(dense)
  `));
  assert.deepEqual(new Set(outline(hierarchy)), new Set(["x", "dense/", "  dense", "  sub"]));
});

test("constants and variables are beside what they feed, with what passes them on", () => {
  const hierarchy = new Hierarchy(graphOf(`
    x = Placeholder()
    w = VarHandleOp()
    w/Read = ReadVariableOp(w)
    axis = Const()
    y = MatMul(x, w/Read)
    z = Mean(y, axis)
    s = Sum(z, axis)
  `));
  assert.deepEqual(outline(hierarchy), ["x", "y", "z", "s"]);
  const y = hierarchy.nodeNamed("y")!;
  assert.deepEqual(hierarchy.satellitesOf(y), [{ node: 1, via: [2] }]);
  assert.equal(hierarchy.itemShowing(1), hierarchy.itemShowing(y));
  assert.equal(hierarchy.satellitesOf(hierarchy.nodeNamed("z")!)[0]!.node, 3);
  assert.equal(hierarchy.satellitesOf(hierarchy.nodeNamed("s")!)[0]!.node, 3);
});

test("control outputs of a function are shown by the node that they are of", () => {
  const graph = graphOf("x = _Arg()\ny = Assert(x)\ny (1) = _ControlReturn()", "function");
  graph.control_source.push(1);
  graph.control_target.push(2);
  const hierarchy = new Hierarchy(graph);
  assert.deepEqual(outline(hierarchy), ["x", "y"]);
  assert.equal(hierarchy.itemShowing(2), hierarchy.itemShowing(1));
});

test("nodes that are alike are a group, and so are those that read from them", () => {
  const restore = Array.from({ length: 20 }, (_, k) => `id_${k} = Identity(restore)\nassign_${k} = AssignVariableOp(id_${k})`);
  const hierarchy = new Hierarchy(graphOf(["x = _Arg()", "restore = RestoreV2(x)", ...restore].join("\n"), "function"));
  assert.deepEqual(hierarchy.children(0).map((item) => hierarchy.label(item)), ["x", "restore", "20 × Identity", "20 × AssignVariableOp"]);
});

test("what no signature needs is in boxes of its own, and a part can be shown alone", () => {
  const graph = graphOf(`
    x = Placeholder()
    w = VarHandleOp()
    y = MatMul(x, w)
    save/name = Placeholder()
    save/SaveV2 = SaveV2(save/name)
    init = Fill()
    unused = NoOp()
  `);
  graph.parts = [
    { kind: "signature", name: "serve", nodes: [0, 1, 2] }, { kind: "loading", name: "", nodes: [5] },
    { kind: "saving", name: "", nodes: [3, 4] }, { kind: "rest", name: "", nodes: [6] },
  ];
  const hierarchy = new Hierarchy(graph);
  const top = hierarchy.children(0).map((item) => hierarchy.label(item));
  assert.deepEqual(new Set(top), new Set(["x", "y", "loading/init", "saving", "not used by a signature/unused"]));
  const part = restrictGraph(graph, signatureParts(graph)[0]!.nodes);
  assert.deepEqual([part.names, part.source, part.target], [["x", "w", "y"], [0, 1], [2, 2]]);
});

test("each edge is in the innermost scope with both ends, and every node is shown once", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const graph = randomGraph(120, seed, seed % 2 === 0);
    const hierarchy = new Hierarchy(graph);
    const lifted = new Map<number, number>();
    for (let item = 0; item < hierarchy.count; item++) {
      if (!hierarchy.isScope(item)) continue;
      const children = new Set(hierarchy.children(item));
      for (const { edge, from, to } of hierarchy.edgesWithin(item)) {
        assert(children.has(from) && children.has(to) && from !== to);
        assert(hierarchy.contains(from, hierarchy.itemShowing(graph.source[edge]!)));
        assert(hierarchy.contains(to, hierarchy.itemShowing(graph.target[edge]!)));
        lifted.set(edge, item);
      }
    }
    const drawn = graph.source.filter((s, e) => !hierarchy.isSatellite(s) && !hierarchy.isSatellite(graph.target[e]!) && s !== graph.target[e]);
    assert.equal(lifted.size, drawn.length);
    const shown = [...hierarchy.nodesBelow(0)].length + graph.names.filter((_, node) => hierarchy.isSatellite(node)).length;
    assert.equal(shown, graph.names.length);
  }
});

test("names of any form are read", () => {
  const names = ["", "/", "//", "a//b/", "a/".repeat(5000) + "deep", "x".repeat(10_000), "😀/👩‍👩‍👧", "rtl/שלום", "c/\u0000\n"];
  const graph = graphOf("x = Placeholder()");
  for (const name of names) {
    graph.names.push(name);
    graph.op.push(0);
    graph.role.push(0);
  }
  const hierarchy = new Hierarchy(graph);
  for (const [node, name] of graph.names.entries()) {
    assert.equal(hierarchy.nodeNamed(name), node);
    assert(hierarchy.itemShowing(node) > 0, name.slice(0, 20));
  }
});
