"""Small models as ONNX Runtime answers them, and as their translation is answered.

A translation is a TensorFlow Lite file, so tfport's own runtime can answer it where LiteRT is not installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tfport
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.litert.litert import LiteRt
from tfport.runtime.engines.litert.translate import LiteTranslation, translate
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms

HAS_LITERT = importlib.util.find_spec("ai_edge_litert") is not None
RUNNERS = ("tfport", "litert") if HAS_LITERT else ("tfport",)
"""What answers translations."""
RNG = np.random.default_rng(3)
IMAGE = (1, 4, 6, 5)
Build = Callable[..., Any]
"""From a builder and the inputs of a model to its outputs."""


class SmallModel:
    """A model with fixed sizes, and inputs for it."""

    def __init__(self, build: Build, *sizes: Sequence[int], seed: int = 0, dtype: str = "float32") -> None:
        inputs = [Operand(DType.parse(dtype), list(size), name="x") for size in sizes]
        builder = Builder("y")
        results = build(builder, *inputs)
        outputs = list(results) if isinstance(results, (list, tuple)) else [results]
        self.nodes = builder.added
        self.model: OnnxModel = island_model(builder.added, inputs, outputs, forms=NodeForms.PLAIN)
        graph = self.model.model.graph
        self.borders = [value.name for value in graph.input], [value.name for value in graph.output]
        rng = np.random.default_rng(seed)
        self.arrays = [rng.normal(0, 2, size).astype(dtype) for size in sizes]

    def translated(self) -> LiteTranslation:
        return translate(self.model.model, self.model.weights, *self.borders)

    def by_onnx_runtime(self) -> Sequence[Any]:
        return OnnxRuntime(1).compile(*self._message(), *self.borders)(self.arrays)

    def answers(self, runner: str, folder: Path) -> Sequence[Any]:
        """What a runner answers for the translation."""
        if runner == "litert":
            return LiteRt(1).compile(*self._message(), *self.borders)(self.arrays)
        return self._by_tfport(folder)

    def _by_tfport(self, folder: Path) -> Sequence[Any]:
        lite = self.translated()
        path = folder / "translated.tflite"
        path.write_bytes(lite.content)
        model = tfport.load(path)
        (signature,) = model.signatures.values()
        fed = dict(zip(signature.inputs, self.arrays, strict=True))
        results = tfport.Session(model).signature(signature.name)(**fed)
        return [results[name] for name in signature.outputs]

    def _message(self) -> tuple[bytes, dict[str, Any]]:
        return self.model.model.SerializeToString(), self.model.weights


def assert_same(expected: Sequence[Any], answers: Sequence[Any]) -> None:
    """The accuracy that a race requires."""
    assert len(expected) == len(answers)
    for right, answer in zip(expected, answers, strict=True):
        assert answer.shape == right.shape
        np.testing.assert_allclose(answer, right, rtol=0, atol=1e-5 * np.abs(right).max())


def floats(b: Builder, *sizes: int) -> Operand:
    """Constant weights."""
    return b.const(RNG.normal(0, 1, sizes).astype(np.float32), FLOAT32)


def number(b: Builder, value: float) -> Operand:
    return b.const(np.float32(value), FLOAT32)


def one(op: str, *sizes: Sequence[int], **attrs: Any) -> tuple[Any, ...]:
    """A model of one node without constants, and the sizes of its inputs."""
    return lambda b, *inputs: getattr(b, op)(*inputs, **attrs), *(sizes or [IMAGE])
