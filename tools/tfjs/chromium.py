"""The real TensorFlow.js in headless Chromium: the models of a folder, served beside the npm packages.

`--use-angle=swiftshader` gives it WebGL without a graphics card.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from node import TfjsFailure, decoded, encoded, installed
from playwright.sync_api import Error, sync_playwright

BROWSER = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
MOST_SECONDS = 90
PAGE = """<script src="/packages/tfjs/dist/tf.min.js"></script>
<script src="/packages/tfjs-backend-wasm/dist/tf-backend-wasm.min.js"></script>"""
RUN = """async ([backend, path, feeds, fetches]) => {
  if (backend === 'wasm') tf.wasm.setWasmPaths('/packages/tfjs-backend-wasm/dist/');
  await tf.setBackend(backend);
  await tf.ready();
  if (tf.getBackend() !== backend) throw new Error('no backend ' + backend);
  const types = {float32: Float32Array, int32: Int32Array, bool: Uint8Array};
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  window.model = window.model || await tf.loadGraphModel(path);
  const inputs = {};
  for (const [name, t] of Object.entries(feeds)) {
    inputs[name] = t.dtype === 'string' ? tf.tensor(t.data.map(bytes), t.shape, 'string')
      : tf.tensor(new types[t.dtype](bytes(t.data).buffer), t.shape, t.dtype);
  }
  const out = await window.model.executeAsync(inputs, fetches);
  const base64 = array => {
    let text = '';
    for (const byte of array) text += String.fromCharCode(byte);
    return btoa(text);
  };
  const answers = [];
  for (const t of Array.isArray(out) ? out : [out]) {
    const data = t.dtype === 'string' ? (await t.bytes()).map(base64)
      : base64(new Uint8Array(types[t.dtype].from(await t.data()).buffer));
    answers.push({dtype: t.dtype, shape: t.shape, data});
  }
  return answers;
}"""


class ChromiumPage:
    """A page with one version of TensorFlow.js and one backend, which runs one model of a folder."""

    def __init__(self, version: str, backend: str, folder: Path) -> None:
        self.version, self.backend = version, backend
        self._folder = folder
        if not (packages := folder / "packages").exists():
            packages.symlink_to(installed(version) / "node_modules/@tensorflow")
        (folder / "page.html").write_text(PAGE)
        handler = partial(_Quiet, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        self._page = self._browser.new_page()
        self._page.set_default_timeout(MOST_SECONDS * 1000)
        self._page.goto(f"http://127.0.0.1:{self._server.server_address[1]}/page.html")

    def run(
        self, model: Path, feeds: Mapping[str, Any], fetches: Sequence[str], *, layers: bool = False
    ) -> tuple[list[Any], list[str]]:
        """The outputs of a model, as `NodeProcess.run` gives them; the kernels are not listed."""
        assert not layers
        path = f"/{model.relative_to(self._folder)}"
        described = {name: encoded(value) for name, value in feeds.items()}
        try:
            answers = self._page.evaluate(RUN, [self.backend, path, described, list(fetches)])
            return [decoded(answer) for answer in answers], []
        except (Error, TypeError, ValueError) as error:
            raise TfjsFailure(str(error).splitlines()[0]) from None

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()
        self._server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass
