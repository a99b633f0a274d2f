"""Helpers: small models with a signature, and servables whose calls are batched."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.recorded_models import graph

import tfport
from tfport.formats.proto import batching_pb2, saved_model_pb2
from tfport.graph.build import graph_to_def
from tfport.runtime.session import Session
from tfport.serve.batching.parameters import BatchParameters, parameters
from tfport.serve.batching.runner import Batching
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.servable import Servable

GATE = "Acme>Gate: (x: float) -> y: float"
# works by rows, fails for NaN, and calls the stub in each run
WATCHED = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    seen = Acme>Gate(x)
    c = CheckNumerics(seen) {T=float32, message="NaN"}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(c, two) {T=float32}
    z = Neg(c) {T=float32}
"""


def session_of(text: str, inputs: Mapping[str, str], outputs: Mapping[str, str], **options: Any) -> Session:
    """Return a session of a graph with one signature: names of inputs and outputs to tensors."""
    program = graph(text)
    model = tfport.load(graph_to_def(program).SerializeToString())
    meta = saved_model_pb2.MetaGraphDef()
    signature = meta.signature_def["serving_default"]
    for into, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for key, tensor in tensors.items():
            value = program.value(tensor)
            into[key].name, into[key].dtype = tensor, value.dtype.number
            into[key].tensor_shape.CopyFrom(value.shape.to_proto())
    model.meta.CopyFrom(meta)
    return Session(model, **options)


@dataclass
class Gate:
    """An op that records the shape of its input and waits until it is opened."""

    open: threading.Event = field(default_factory=threading.Event)
    entered: threading.Event = field(default_factory=threading.Event)
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def __call__(self, x: Any) -> Any:
        self.shapes.append(x.shape)
        self.entered.set()
        assert self.open.wait(60)
        return x


def opened() -> Gate:
    gate = Gate()
    gate.open.set()
    return gate


def watched(gate: Gate) -> Session:
    """Return twice the input and its negative; fails for NaN."""
    return session_of(WATCHED, {"x": "x:0"}, {"y": "y:0", "z": "z:0"}, stubs={GATE: lambda x: gate(x)})


def parse_parameters(text: str) -> BatchParameters:
    from google.protobuf import text_format

    return parameters(text_format.Parse(text, batching_pb2.BatchingParameters()))


def batched(
    session: Session, batching: Batching | str, name: str = "model", metrics: Metrics | None = None
) -> Servable:
    made = (
        batching if isinstance(batching, Batching) else Batching(parse_parameters(batching), metrics=metrics)
    )
    runner = made.runner(name, 1)
    assert runner is not None
    return Servable(name, 1, session, runner)


def rows(*values: float, width: int = 1) -> np.ndarray[Any, Any]:
    """Return a row for each value."""
    return np.repeat(np.float32(values)[:, None], width, axis=1)


def listed(answers: Sequence[dict[str, Any]], name: str = "y") -> list[Any]:
    return [answer[name].tolist() for answer in answers]


ONE_THREAD = "num_batch_threads { value: 1 } max_batch_size { value: 4 } "


async def call_all(servable: Servable, *inputs: Any, outputs: Sequence[str] = ()) -> list[Any]:
    """Call in parallel; return answers and exceptions."""
    calls = [servable.predict("", {"x": x}, outputs) for x in inputs]
    return await asyncio.gather(*calls, return_exceptions=True)
