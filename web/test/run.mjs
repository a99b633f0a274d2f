// Build the tests and run them: node test/run.mjs
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const HERE = new URL(".", import.meta.url).pathname;
const out = mkdtempSync(join(tmpdir(), "tfport-web-test-"));
const entryPoints = readdirSync(HERE).filter((file) => file.endsWith(".test.ts")).map((file) => join(HERE, file));
try {
  await build({
    entryPoints, outdir: out, bundle: true, platform: "node", format: "esm", target: "node20", outExtension: { ".js": ".mjs" },
    external: ["node:*"], logLevel: "warning",
  });
  const files = entryPoints.map((file) => join(out, file.slice(HERE.length).replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
