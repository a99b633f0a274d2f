import assert from "node:assert/strict";
import { test } from "node:test";
import { describeStub } from "../src/graph/describe";
import { farEnds } from "../src/graph/scene/stubs";
import { explore } from "./explored";
import { graphOf } from "./graphs";

const LENGTH = 400;
const name = (k: number) => `n${String(k).padStart(3, "0")}`;

/** A chain in which the first nodes are also read by the last ones: too many bends to route them all. */
function skippingChain(): string {
  const lines = [`${name(0)} = Placeholder()`];
  for (let k = 1; k < LENGTH; k++) {
    const far = k >= LENGTH - 100 ? `, ${name(LENGTH - 1 - k)}` : "";
    lines.push(`${name(k)} = Op${k % 7}(${name(k - 1)}${far})`);
  }
  return lines.join("\n");
}

test("an edge that is not routed has a stub at each end that knows the other one", async () => {
  const { scene } = await explore(graphOf(skippingChain()));
  const long = scene!.edges.filter(({ points }) => !points.length);
  assert(long.length > 0 && long.length < 100, String(long.length));
  assert.equal(scene!.stubs.length, 2 * long.length);
  const stub = scene!.stubs.find(({ block, way }) => way === "out" && block.title === name(0))!;
  const [end, ...others] = farEnds(stub, scene!.byKey);
  assert.deepEqual([end?.subtitle, others], [name(LENGTH - 1), []]);
  assert.equal(describeStub(stub, scene!.byKey), `to ${name(LENGTH - 1)}; click to go there`);
  assert(stub.y > stub.block.y + stub.block.height && stub.x < stub.block.x + stub.block.width);
});
