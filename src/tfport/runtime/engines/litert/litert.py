"""LiteRT's interpreter, which computes with XNNPACK, for models of known sizes; optional (`tfport[litert]`).

It cannot be interrupted, and has neither loops nor branches, so that each run ends.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import NO_HINTS, Compiled, EngineFailed, IslandHints
from tfport.runtime.engines.litert.interpreters import Interpreters, sentence_of
from tfport.runtime.engines.litert.litert_nodes import LiteRtNodes
from tfport.runtime.engines.litert.translate import translate
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.passes.pass_list import IslandForm
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKAGE = "ai_edge_litert"


class LiteRt:
    """Compiles models in which all sizes are known, and all nodes have a translation."""

    name = "LiteRT"
    checks_indices = False
    on_device = False
    form = IslandForm()
    rival = None

    def __init__(self, threads: int) -> None:
        if importlib.util.find_spec(PACKAGE) is None:
            raise Error("LiteRT is not installed: pip install 'tfport[litert]'")
        self.threads = threads

    def takes(self, node: OnnxNode) -> bool:
        return LiteRtNodes()(node)

    def has_kernel(self, node: OnnxNode) -> bool:
        return self.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        lite = translate(pb.ModelProto.FromString(model), weights, inputs, outputs)
        interpreters = Interpreters(lite.content, self.threads)

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            with interpreters.one() as interpreter:
                began = time.perf_counter()
                try:
                    for tensor, array in zip(lite.inputs, arrays, strict=True):
                        interpreter.set_tensor(tensor, np.asarray(array))
                    interpreter.invoke()
                    if not are_ordinary([interpreter.get_tensor(tensor) for tensor in lite.watched]):
                        raise EngineFailed("numbers that are not ordinary")
                    results = [
                        np.asarray(interpreter.get_tensor(output))
                        if isinstance(output, int)
                        else output.copy()
                        for output in lite.outputs
                    ]
                except (RuntimeError, ValueError) as error:
                    raise EngineFailed(sentence_of(error)) from None
            if (recorder := current_recorder()) is not None:
                recorder.engine_time(time.perf_counter() - began)
            if (scope := current_scope()) is not None:
                scope.stop.check()
            return results

        return run
