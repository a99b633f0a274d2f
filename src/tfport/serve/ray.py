"""A model as a Ray Serve deployment with any number of replicas.

    from ray import serve
    serve.run(app("export/half_plus_two", name="half_plus_two", num_replicas=2))
    serve run tfport.serve.ray:build model=export/half_plus_two name=half_plus_two

Each replica loads the model once. It answers TensorFlow Serving's REST API under `/v1/models/NAME`, and
`handle.predict.remote({"x": array})` from Python. Ray's own options set the number of replicas, where
they run and whether requests are batched. Needs `ray[serve]`: `pip install 'tfport[ray]'`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.formats.remote import is_address
from tfport.runtime.engines.gpu.device_name import CUDA, TENSORRT, parse_device
from tfport.runtime.engines.gpu.gpu_options import TF32, GpuOptions
from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.store import open_store
from tfport.serve.rest.encode import error_body
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.request_head import parse_path
from tfport.serve.rest.routes import answer_get, answer_post
from tfport.serve.servable import Arrays, Servable, ThreadRunner
from tfport.serve.status import StatusCode, StatusError
from tfport.serve.workers.pool import WorkerPool

if TYPE_CHECKING:
    from ray.serve import Application
    from starlette.requests import Request
    from starlette.responses import Response


class Replica:
    """One copy of one version of a model."""

    def __init__(
        self,
        model: str,
        name: str = "default",
        version: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        precision: str = TF32,
    ) -> None:
        """`device` and `precision` are those of a session; on a GPU, Ray needs `num_gpus` too."""
        self.copy = tempfile.mkdtemp(prefix="tfport-") if is_address(model) else ""
        number, path = _fetched(model, version, Path(self.copy) / "model")
        pool = ThreadPoolExecutor(threads or os.cpu_count(), thread_name_prefix="tfport")
        options = GpuOptions(precision=precision, require=parse_device(device).kind in (CUDA, TENSORRT))
        session = Session(path, threads=threads, device=device, gpu=options)
        self.servable = Servable(name, number, session, ThreadRunner(pool))
        self.catalog = ModelCatalog()
        self.catalog.publish(self.servable)
        self.options = RestOptions(workers=WorkerPool(processes=0))  # Ray runs as many replicas as needed

    def __del__(self) -> None:
        """Called by Ray when it ends a replica; not earlier, as a run may read other files."""
        if self.copy:
            shutil.rmtree(self.copy, ignore_errors=True)

    async def predict(
        self, inputs: Mapping[str, Any], signature: str = "", outputs: Sequence[str] = ()
    ) -> Arrays:
        """Answer a call of a handle: named arrays to named arrays."""
        try:
            return await self.servable.predict(signature, inputs, outputs)
        except StatusError as error:  # only an exception that is built from its text can cross processes
            raise ValueError(f"{error.code.name}: {error.message}") from None

    async def __call__(self, request: Request) -> Response:
        """Answer an HTTP request."""
        from starlette.responses import Response

        status = StatusCode.OK
        try:
            path = parse_path(request.method, _path(request))
            if request.method == "GET":
                body = answer_get(self.catalog, path)
            else:
                body = await answer_post(self.catalog, path, await request.body(), self.options)
        except StatusError as error:
            status, body = error.code, error_body(error.message)
        return Response(body, status.http, media_type="application/json")


def app(
    model: str | os.PathLike[str],
    *,
    name: str = "default",
    version: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
    precision: str = TF32,
    **options: Any,
) -> Application:
    """Return an application for `serve.run`.

    `model` is a base path or the folder of one version, readable from every machine of the cluster;
    `version` defaults to the newest one. `options` are Ray's deployment options: `num_replicas`,
    `autoscaling_config`, `ray_actor_options`, … On a GPU, `device="cuda"` with
    `ray_actor_options={"num_gpus": 1}`: Ray shows each replica a GPU of its own.
    """
    from ray import serve

    deployment = serve.deployment(Replica).options(**{"name": name, **options})
    return deployment.bind(os.fspath(model), name, version, threads, device, precision)


def build(args: Mapping[str, str]) -> Application:
    """Return the application for a command line or the `args` of a Serve config file."""
    known = {"model", "name", "version", "threads", "device", "precision"}
    if unknown := sorted(set(args) - known):
        raise Error(
            f"tfport.serve.ray: unknown argument {', '.join(unknown)}; expected {', '.join(sorted(known))}"
        )
    if "model" not in args:
        raise Error("tfport.serve.ray: missing argument: model=PATH")
    return app(
        args["model"],
        name=args.get("name", "default"),
        version=int(args["version"]) if "version" in args else None,
        threads=int(args["threads"]) if "threads" in args else None,
        device=args.get("device", "cpu"),
        precision=args.get("precision", TF32),
    )


def _fetched(model: str, version: int | None, folder: Path) -> tuple[int, Path]:
    """Fetch a version of the model to this machine; return its number and path."""
    store = open_store(model)
    versions = store.versions()
    if not versions:
        raise Error(f"{model}: no version of a model found")
    number = max(versions) if version is None else version
    if number not in versions:
        numbers = ", ".join(map(str, sorted(versions)))
        raise Error(f"{model}: version {number} not found; available: {numbers}")
    return number, store.fetch(versions[number], folder)


def _path(request: Request) -> str:
    """Return the path after Ray's route prefix, still percent-encoded."""
    path: str = request.scope.get("raw_path", b"").decode("latin-1") or request.url.path
    prefix: str = request.scope.get("root_path", "").rstrip("/")
    return path.removeprefix(prefix)
