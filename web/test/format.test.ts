import assert from "node:assert/strict";
import { test } from "node:test";
import { count } from "../src/components/format";

test("nouns are counted in English", () => {
  assert.deepEqual([count(1, "node"), count(2, "node"), count(5, "custom class"), count(1000, "box")], ["1 node", "2 nodes", "5 custom classes", "1,000 boxes"]);
});
