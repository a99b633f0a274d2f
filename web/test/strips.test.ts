import assert from "node:assert/strict";
import { test } from "node:test";
import type { MatrixStrip } from "../src/api/reports";
import { rowsOf } from "../src/views/verdicts/strips";

const cause = (op: string) => ({ code: "TFP101", op, attr: null, stage: "load" as const });
const release = (name: string, ...ops: string[]) => ({
  release: name, target: `tensorflow==${name}`, verdict: ops.length ? ("fails" as const) : ("runs" as const),
  stage: ops.length ? ("load" as const) : null, causes: ops.map(cause),
});

test("causes come in the order of the command: what stops the newest release that fails comes first", () => {
  const releases = [release("1.0.0", "Oldest", "Middle", "Last"), release("1.1.0", "Middle", "Last"), release("1.2.0", "Last"), release("1.3.0")];
  const strip: MatrixStrip = { package: "tensorflow", device: "cpu", loader: "python", signatures: [], releases, spans: [] };
  assert.deepEqual(rowsOf(strip).map((row) => row.cause?.op ?? "verdict"), ["verdict", "Last", "Middle", "Oldest"]);
});
