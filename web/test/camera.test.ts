import assert from "node:assert/strict";
import { test } from "node:test";
import { seeingOneOf, type Camera } from "../src/graph/camera";
import { explore } from "./explored";
import { graphOf } from "./graphs";

const VIEW = { width: 1400, height: 800 };

/** A chain whose end also reads a hundred sources: its scope is wide, and empty at the middle of its top. */
function denseScope(): string {
  const chain = Array.from({ length: 30 }, (_, k) => `s/c${k} = Chain${k}(${k ? `s/c${k - 1}` : "x"})`);
  const sources = Array.from({ length: 100 }, (_, k) => `s/side${k}`);
  const lines = sources.map((name, k) => `${name} = Source${k}()`);
  return ["x = Placeholder()", ...chain, ...lines, `s/z = Join(s/c29, ${sources.join(", ")})`].join("\n");
}

test("a dense scope that is opened keeps a box in view", async () => {
  const explorer = await explore(graphOf(denseScope()));
  const scope = explorer.scene!.blocks.find((block) => block.title === "s")!;
  assert(scope.expanded && scope.children.length > 100);
  const onTop: Camera = { scale: 0.8, x: scope.x + scope.width / 2 - VIEW.width / 1.6, y: scope.y - 100 };
  const seen = ({ x, y, scale }: Camera) =>
    scope.children.filter((box) => box.x + box.width > x && box.x < x + VIEW.width / scale && box.y + box.height > y && box.y < y + VIEW.height / scale);
  assert.equal(seen(onTop).length, 0);
  const moved = seeingOneOf(onTop, VIEW, scope.children);
  assert(seen(moved).length > 0);
  assert.equal(seeingOneOf(moved, VIEW, scope.children), moved, "a view with a box stays");
});
