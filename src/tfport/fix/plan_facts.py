"""Shapes and constants that tfport's runtime infers when it plans a main graph."""

from __future__ import annotations

import contextlib

from tfport.errors import Error
from tfport.graph.graph import Value
from tfport.graph.model import Model
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.operand import Operand
from tfport.runtime.state import State
from tfport.runtime.trace import Env, Tracer

FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")


def traced(model: Model) -> Env:
    """The inferred facts of each value that the outputs need; values of variables are not used."""
    tracer = Tracer(State(model), make_engine("onnxruntime", 1), bake=False, implementations=PROCESS_WIDE)
    env: Env = {node.output(0): _fed(node.output(0)) for node in model.graph if node.op in FED}
    signatures = list(model.signatures.values())
    ends = [value.node for signature in signatures for value in model.ends_of(signature)]
    ends = ends or [node for node in model.graph if not node.users]
    with contextlib.suppress(Error):  # the facts inferred until then remain valid
        tracer.region(dict.fromkeys(ends), env)
    return env


def _fed(value: Value) -> Operand:
    return Operand(value.dtype.base, value.shape.dims, name=value.node.name)
