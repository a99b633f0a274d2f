// Build the page into the Python package: node build.mjs
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";

const OUT = new URL("../src/tfport/static_page/assets/", import.meta.url).pathname;
const HERE = new URL(".", import.meta.url).pathname;
const options = { bundle: true, minify: true, target: "es2022", legalComments: "none", logLevel: "warning" };

/** A digest of everything that the assets are built from, so that a test finds stale assets. */
function digest() {
  const hash = createHash("sha256");
  const files = ["package-lock.json", "build.mjs", ...filesBelow("src")].sort();
  for (const file of files) {
    hash.update(file + "\0").update(readFileSync(join(HERE, file))).update("\0");
  }
  return hash.digest("hex");
}

function filesBelow(folder) {
  const entries = readdirSync(join(HERE, folder), { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile()).map((e) => relative(HERE, join(e.parentPath, e.name)));
}

// The worker is a string in the bundle: a page that is one file has nowhere else to load it from.
const worker = await build({ ...options, entryPoints: [join(HERE, "src/graph/layout.worker.ts")], write: false });
await build({
  ...options,
  entryPoints: { app: join(HERE, "src/main.tsx") },
  outdir: OUT,
  define: { LAYOUT_WORKER: JSON.stringify(worker.outputFiles[0].text) },
});
writeFileSync(join(OUT, "sources.sha256"), digest() + "\n");
