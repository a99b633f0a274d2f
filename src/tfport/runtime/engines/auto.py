"""The fastest engine for each island: ONNX Runtime or OpenVINO, with one thread or all.

`raced_island` says when an island chooses, `race` how, `same_answers` for which islands OpenVINO may be
chosen, and `choice_cache` where choices are remembered.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.choice_cache import Choice, ChoiceCache, choices_of_user
from tfport.runtime.engines.engine import CPU_FORM, NO_HINTS, Compiled, Engine, IslandHints
from tfport.runtime.engines.island_key import island_key
from tfport.runtime.engines.onnx_runtime import OnnxRuntime, may_run_out
from tfport.runtime.engines.raced_island import PATIENCE, RacedIsland
from tfport.runtime.engines.same_answers import are_ordinary, may_run_elsewhere
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_WEIGHTS = 256 << 20
"""Bytes of weights above which there is no race: each contender has its own copy."""


class AutoEngine:
    """Compiles islands that choose their engine by measuring."""

    name = "ONNX Runtime"
    checks_indices = True
    on_device = False
    form = CPU_FORM
    rival = None

    def __init__(
        self,
        threads: int | None = None,
        *,
        spins: bool = True,
        max_bytes: int = 0,
        choices: ChoiceCache | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """`choices`: those to use and to extend (default: those of this user); see also `OnnxRuntime`.

        `patience`: seconds in an island after which it races. OpenVINO takes no part with `max_bytes`, as
        its memory cannot be limited.
        """
        self._usual = OnnxRuntime(threads, spins=spins, max_bytes=max_bytes)
        self.threads = self._usual.threads
        self._choices = choices or choices_of_user()
        self._patience = patience
        self._has_openvino = not max_bytes and importlib.util.find_spec("openvino") is not None

    def takes(self, node: OnnxNode) -> bool:
        return self._usual.takes(node)

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
        def compiled_by(choice: Choice) -> Compiled:
            return self._engine(choice).compile(model, weights, inputs, outputs, hints)

        def is_ordinary(arrays: Sequence[Any]) -> bool:
            return are_ordinary(arrays) and not may_run_out(arrays, hints.least_size)

        def rivals() -> tuple[str, list[Choice]]:
            graph = pb.ModelProto.FromString(model).graph
            return island_key(graph, weights, self._usual.threads, hints.alone), self._rivals(graph)

        usual = Choice("onnxruntime", self._usual.threads)
        is_always_light = hints.work.is_fixed and hints.work.may_be_light
        if is_always_light or sum(array.nbytes for array in weights.values()) > MAX_WEIGHTS:
            return compiled_by(usual)
        return RacedIsland(
            compiled_by,
            usual,
            functools.cache(rivals),
            self._choices,
            hints.work,
            is_ordinary,
            self._patience,
        )

    def _rivals(self, graph: pb.GraphProto) -> list[Choice]:
        counts = sorted({1, self._usual.threads})
        engines = ["onnxruntime", "openvino"] if self._has_openvino else ["onnxruntime"]
        if not may_run_elsewhere(graph):
            engines = engines[:1]
        choices = [Choice(engine, count) for engine in engines for count in counts]
        choices.remove(Choice("onnxruntime", self._usual.threads))
        return choices

    def _engine(self, choice: Choice) -> Engine:
        if choice.engine == "openvino":
            return _openvino(choice.threads)
        return OnnxRuntime(choice.threads, spins=self._usual.spins, max_bytes=self._usual.max_bytes)


@functools.cache
def _openvino(threads: int) -> Engine:
    from tfport.runtime.engines.openvino import OpenVino

    return OpenVino(threads)
