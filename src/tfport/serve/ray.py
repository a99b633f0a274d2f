"""A model as a Ray Serve deployment: replicas of it, on as many machines as Ray has.

    from ray import serve
    serve.run(app("export/half_plus_two", name="half_plus_two", num_replicas=2))
    serve run tfport.serve.ray:build model=export/half_plus_two name=half_plus_two

A replica loads the model once. It answers TensorFlow Serving's REST API under `/v1/models/NAME`, and
`handle.predict.remote({"x": array})` from Python. How many replicas there are, where they run and
whether requests are batched is told to Ray; `ray[serve]` is the extra `ray`.
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
from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.config import is_address
from tfport.serve.models.store import open_store
from tfport.serve.rest.encode import error_body
from tfport.serve.rest.paths import asked
from tfport.serve.rest.routes import answer, look
from tfport.serve.servable import Arrays, Servable, ThreadRunner
from tfport.serve.status import StatusCode, StatusError

if TYPE_CHECKING:
    from ray.serve import Application
    from starlette.requests import Request
    from starlette.responses import Response


class Replica:
    """One copy of one version of a model."""

    def __init__(
        self, model: str, name: str = "default", version: int | None = None, threads: int | None = None
    ) -> None:
        self.copy = tempfile.mkdtemp(prefix="tfport-") if is_address(model) else ""
        number, path = _fetched(model, version, Path(self.copy) / "model")
        pool = ThreadPoolExecutor(threads or os.cpu_count(), thread_name_prefix="tfport")
        self.servable = Servable(name, number, Session(path, threads=threads), ThreadRunner(pool))
        self.catalog = ModelCatalog()
        self.catalog.publish(self.servable)

    def __del__(self) -> None:
        """Ray calls this when it ends a replica; not sooner, as variables may be read again."""
        if self.copy:
            shutil.rmtree(self.copy, ignore_errors=True)

    async def predict(
        self, inputs: Mapping[str, Any], signature: str = "", outputs: Sequence[str] = ()
    ) -> Arrays:
        """Answer a call of a handle: arrays by name in, arrays by name out."""
        try:
            return await self.servable.predict(signature, inputs, outputs)
        except StatusError as refusal:  # what crosses processes must be made again from its text
            raise ValueError(f"{refusal.code.name}: {refusal.message}") from None

    async def __call__(self, request: Request) -> Response:
        """Answer a request over HTTP."""
        from starlette.responses import Response

        status = StatusCode.OK
        try:
            question = asked(request.method, _path(request))
            if request.method == "GET":
                body = look(self.catalog, question)
            else:
                body = await answer(self.catalog, question, await request.body(), None)
        except StatusError as refusal:
            status, body = refusal.code, error_body(refusal.message)
        return Response(body, status.http, media_type="application/json")


def app(
    model: str | os.PathLike[str],
    *,
    name: str = "default",
    version: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> Application:
    """An application for `serve.run`: a model by its base path or its own folder, which every machine
    of the cluster must be able to read; its newest version unless one is named. `options` are Ray's
    for a deployment: `num_replicas`, `autoscaling_config`, `ray_actor_options`, …
    """
    from ray import serve

    deployment = serve.deployment(Replica).options(**{"name": name, **options})
    return deployment.bind(os.fspath(model), name, version, threads)


def build(args: Mapping[str, str]) -> Application:
    """The same from a command line or the `args` of a Serve config file."""
    known = {"model", "name", "version", "threads"}
    if unknown := sorted(set(args) - known):
        raise Error(
            f"tfport.serve.ray: no argument {', '.join(unknown)}; there is {', '.join(sorted(known))}"
        )
    if "model" not in args:
        raise Error("tfport.serve.ray: which model? Say model=PATH")
    numbers = {key: int(args[key]) for key in ("version", "threads") if key in args}
    return app(args["model"], name=args.get("name", "default"), **numbers)


def _fetched(model: str, version: int | None, folder: Path) -> tuple[int, Path]:
    """A version on this machine, and its number."""
    store = open_store(model)
    there = store.versions()
    if not there:
        raise Error(f"{model}: there is no version of a model")
    number = max(there) if version is None else version
    if number not in there:
        numbers = ", ".join(map(str, sorted(there)))
        raise Error(f"{model}: there is no version {number}; there is {numbers}")
    return number, store.fetch(there[number], folder)


def _path(request: Request) -> str:
    """The path behind the prefix that Ray routes by, with its escapes."""
    path: str = request.scope.get("raw_path", b"").decode("latin-1") or request.url.path
    prefix: str = request.scope.get("root_path", "").rstrip("/")
    return path.removeprefix(prefix)
