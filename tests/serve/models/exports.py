"""Helpers: small SavedModels on disk, and a manager that serves them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.recorded_models import graph

from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.encoding.tfrecord import record
from tfport.formats.proto import graph_pb2, serving_pb2
from tfport.formats.proto import model_server_config_pb2 as config_pb
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.warmup import WARMUP
from tfport.graph.build import graph_to_def
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.models.config import parse_config
from tfport.serve.models.manager import ModelManager
from tfport.serve.models.options import ManagerOptions
from tfport.serve.servable import ThreadRunner
from tfport.serve.status import StatusCode

ADD = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    more = Const() {{dtype=float32, value=float32()[{more}]}}
    y = AddV2(x, more) {{T=float32}}
"""
PATIENCE = 30
FAST = {"poll_seconds": 0.01, "load_retries": 0, "retry_seconds": 0.0, "drain_seconds": 20}


def saved_model(text: str, outputs: dict[str, str]) -> bytes:
    """Return a SavedModel with a signature per output (name to tensor); the input is `x`."""
    program = graph(text)
    meta = pb.MetaGraphDef(graph_def=graph_to_def(program))
    meta.meta_info_def.tags.append("serve")
    for name, output in outputs.items():
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        for into, key, tensor in ((signature.inputs, "x", "x:0"), (signature.outputs, "y", output)):
            value = program.value(tensor)
            into[key].name, into[key].dtype = tensor, value.dtype.number
            into[key].tensor_shape.CopyFrom(value.shape.to_proto())
    return pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta]).SerializeToString()


def adder(more: float) -> bytes:
    """x + more"""
    return saved_model(ADD.format(more=float(more)), {"serving_default": "y:0"})


def export(base: Path, version: int | str, data: bytes | None = None, warm_up: bytes | None = None) -> Path:
    """Write a version as exporters do: elsewhere, then renamed. By default it adds its number."""
    part = base / f"temp-{version}"
    part.mkdir(parents=True)
    (part / "saved_model.pb").write_bytes(adder(int(version)) if data is None else data)
    if warm_up is not None:
        (part / WARMUP).parent.mkdir()
        (part / WARMUP).write_bytes(warm_up)
    return part.rename(base / str(version))


def warm_up_file(*requests: tuple[str, dict[str, Any]]) -> bytes:
    """Return Predict requests: a signature name and arrays each."""
    records = []
    for signature, inputs in requests:
        log = serving_pb2.PredictionLog()
        log.predict_log.request.model_spec.signature_name = signature
        for name, array in inputs.items():
            tensor = from_numpy(np.asarray(array, np.float32), graph_pb2.DT_FLOAT)
            log.predict_log.request.inputs[name].CopyFrom(tensor)
        records.append(record(log.SerializeToString()))
    return b"".join(records)


def config_of(*models: str) -> config_pb.ModelServerConfig:
    """Return a configuration of models, each given as the text within `config { … }`."""
    return parse_config(config_text(*models), "test")


def config_text(*models: str) -> str:
    inner = "\n".join(f'config {{ model_platform: "tensorflow" {model} }}' for model in models)
    return f"model_config_list {{ {inner} }}"


def model(name: str, base: Path | str, more: str = "") -> str:
    return f'name: "{name}" base_path: "{base}" {more}'


class Served:
    """A running manager, and methods to query it."""

    def __init__(self, manager: ModelManager) -> None:
        self.manager, self.catalog = manager, manager.catalog

    async def ask(self, name: str = "m", version: int | None = None, label: str = "") -> float:
        """Return the model's answer to 0: for most models the version number."""
        servable = self.catalog.get(name, version, label)
        return float((await servable.predict("", {"x": np.float32([0])}))["y"][0])

    def status(self, version: int, name: str = "m") -> VersionStatus:
        return self.catalog.statuses(name, version)[0]

    def states(self, name: str = "m") -> dict[int, tuple[VersionState, StatusCode]]:
        return {status.version: (status.state, status.code) for status in self.catalog.statuses(name)}


@asynccontextmanager
async def serving(
    config: config_pb.ModelServerConfig | None = None,
    *,
    wait: bool = True,
    runner_for: Callable[..., Any] | None = None,
    load: Any = None,
    config_file: str | None = None,
    cache: Path | None = None,
    on_attempt: Callable[..., None] = lambda attempt: None,
    **options: Any,
) -> AsyncIterator[Served]:
    """Run a manager; with `wait=False` the context is entered while it is still starting."""
    with ThreadPoolExecutor(4) as pool:
        manager = ModelManager(
            ModelCatalog(),
            config,
            runner_for=runner_for or (lambda *_: ThreadRunner(pool)),
            load=load,
            config_file=config_file,
            cache=cache,
            on_attempt=on_attempt,
            options=ManagerOptions(**{**FAST, **options}),
        )
        start = asyncio.create_task(manager.start())
        try:
            if wait:
                await start
            yield Served(manager)
        finally:
            await manager.stop()
            await asyncio.gather(start, return_exceptions=True)


async def until(so: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end, "it never came"
        await asyncio.sleep(0.002)
