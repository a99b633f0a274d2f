"""Run TensorFlow.js models in headless Chromium, on webgl and wasm, and compare with tfport.

    python tools/tfjs/chromium.py [--records FILE] MODEL…

Each model is exported, served from a folder beside the npm packages, and run by the bundles of a page.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from node import decoded, encoded, installed
from playwright.sync_api import sync_playwright
from proof import is_same, trials

import tfport
from tfport.cli.main import main as tfport_main
from tfport.graph.save import as_saved_model

VERSION = "4.22.0"
PAGE = """<script src="/packages/tfjs/dist/tf.min.js"></script>
<script src="/packages/tfjs-backend-wasm/dist/tf-backend-wasm.min.js"></script>"""
RUN = """async ([backend, feeds, fetches]) => {
  if (backend === 'wasm') tf.wasm.setWasmPaths('/packages/tfjs-backend-wasm/dist/');
  await tf.setBackend(backend);
  await tf.ready();
  if (tf.getBackend() !== backend) throw new Error('no backend ' + backend);
  const types = {float32: Float32Array, int32: Int32Array, bool: Uint8Array};
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const model = await tf.loadGraphModel('/model/model.json');
  const inputs = {};
  for (const [name, t] of Object.entries(feeds)) {
    inputs[name] = t.dtype === 'string' ? tf.tensor(t.data.map(bytes), t.shape, 'string')
      : tf.tensor(new types[t.dtype](bytes(t.data).buffer), t.shape, t.dtype);
  }
  const out = await model.executeAsync(inputs, fetches);
  const answers = [];
  for (const t of Array.isArray(out) ? out : [out]) {
    const data = types[t.dtype].from(await t.data());
    let text = '';
    for (const byte of new Uint8Array(data.buffer)) text += String.fromCharCode(byte);
    answers.push({dtype: t.dtype, shape: t.shape, data: btoa(text)});
  }
  return answers;
}"""


def served(folder: Path) -> tuple[ThreadingHTTPServer, str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


def outcome(page: Any, source: str, folder: Path, address: str, backend: str) -> str:
    written = tfport.load(folder / "model")
    (signature,) = written.signatures.values()
    session = tfport.Session(as_saved_model(tfport.load(source)))
    trial = next(t for t in trials(written))
    inputs = {k: v for k, v in trial.inputs.items() if k in signature.inputs}
    expected = session.signature(signature.name)(**trial.inputs)
    feeds = {signature.inputs[k].tensors[0].partition(":")[0]: encoded(v) for k, v in inputs.items()}
    names = list(signature.outputs)
    fetches = [signature.outputs[name].tensors[0] for name in names]
    page.goto(f"{address}/page.html")
    try:
        answers = page.evaluate(RUN, [backend, feeds, fetches])
    except Exception as error:
        return f"failed: {str(error).splitlines()[0][:160]}"
    same = all(is_same(decoded(a), expected[name]) for a, name in zip(answers, names, strict=True))
    return "same" if same else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--records", type=Path, default=Path("chromium.json"))
    parser.add_argument("--browser", default="/usr/bin/chromium")
    args = parser.parse_args()
    records: dict[str, dict[str, str]] = {}
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=args.browser, args=options)
        for source in args.models:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "packages").symlink_to(installed(VERSION) / "node_modules/@tensorflow")
                (folder / "page.html").write_text(PAGE)
                if tfport_main(["export", source, "--format", "tfjs", "-o", str(folder / "model"), "--json"]):
                    continue
                server, address = served(folder)
                for backend in ("webgl", "wasm"):
                    page = browser.new_page()
                    result = outcome(page, source, folder, address, backend)
                    records.setdefault(source, {})[backend] = result
                    print("CHROMIUM", source, backend, result, flush=True)
                    page.close()
                server.shutdown()
                args.records.write_text(json.dumps(records, indent=1) + "\n")
        browser.close()


if __name__ == "__main__":
    main()
