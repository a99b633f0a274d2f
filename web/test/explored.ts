/** Graphs that are explored without a browser, and what must be true of every picture. */
import assert from "node:assert/strict";
import type { GraphData } from "../src/api/types";
import { Explorer } from "../src/graph/explorer";
import { layoutAll } from "../src/graph/layout/layered";
import type { Block } from "../src/graph/scene/block";
import type { Scene } from "../src/graph/scene/scene";

export const measure = (text: string) => 6.5 * Math.min(text.length, 100);

export async function explore(graph: GraphData, others: GraphData[] = []): Promise<Explorer> {
  const all = [graph, ...others];
  const summaries = all.map(({ id, name, kind, names }) => ({ id, name, kind, nodes: names.length, callers: 0, signatures: [] }));
  const explorer = new Explorer(
    graph, summaries, (id) => Promise.resolve(all.find((g) => g.id === id)!), measure,
    (problems) => Promise.resolve(layoutAll(problems)), { onScene: () => {}, onNotice: (sentence) => assert.equal(sentence, "") },
  );
  await explorer.start();
  return explorer;
}

export const SLACK = 0.51;
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

export function checkAll(scene: Scene, what: string): void {
  checkBoxes(scene, what);
  checkEdges(scene, what);
  checkClearance(scene, what);
}
