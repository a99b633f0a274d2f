"""What a release of TensorFlow.js runs: the ops of its converter, and the kernels of a backend.

Recorded from the npm packages by `tools/atlas/tfjs_releases.py` (`releases.json`). `TfjsSource` is a
release as a source of ops: their definitions are TensorFlow's, without the attribute values that no
recorded case answers rightly, and an op has a kernel if the backend has all kernels that its cases
called.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import DType
from tfport.registry.kernels import Kernel

PACKAGE = "tfjs"
BACKENDS = ("cpu", "wasm", "webgl")
DEFAULT_BACKEND = "webgl"
"""What TensorFlow.js chooses in a browser."""
WRONG = "wrong"
"""The problem of an op whose answers are never TensorFlow's."""
FORGETS = "empty in the second call"
"""The problem of a table that only the first call of a model finds filled."""
TYPES = tuple(
    DType.parse(name)
    for name in (
        "float32", "int32", "bool", "string", "complex64", "float16", "float64", "int64", "int8", "uint8",
        "complex128", "resource", "variant",
    )
)  # fmt: skip
"""The types that its executor knows; it computes with the first five."""
STRUCTURE = frozenset(
    """
    Const Placeholder PlaceholderWithDefault Identity IdentityN NoOp Switch Merge Enter Exit NextIteration
    LoopCond If StatelessIf While StatelessWhile HashTable HashTableV2
    """.split()  # noqa: SIM905
)
"""Ops that take any type."""

ASSUMED: dict[str, dict[str, bool | int]] = {
    "OneHot": {"axis": -1},
    "FusedBatchNorm": {"is_training": False},
    "FusedBatchNormV2": {"is_training": False},
    "FusedBatchNormV3": {"is_training": False},
}
"""Attributes that its executor does not read, and the values that it assumes."""

BYTES, WHOLE = ("int8", "uint8"), ("int32", "int64", "int8")
WRAPPING = "Abs Add AddN AddV2 Cumprod Cumsum Mul Neg Prod Square Sub Sum"
MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    **{key: {"T": BYTES} for key in WRAPPING.split()},
    "DepthToSpace": {"T": (*WHOLE, "uint8", "float64", "bool")},
    "Div": {"T": WHOLE},
    "Gather": {"Tparams": ("string",)},
    "Mean": {"T": (*WHOLE, "uint8")},
}
"""Types that the recorded cases do not show to be wrong, and those of TensorFlow Lite do.

Integers of a byte do not wrap, quotients of integers are rounded down, their means are not rounded.
"""
MISSED_ON_WASM = {key: {"T": ("bool",)} for key in ("Select", "SelectV2")} | {
    "StridedSlice": {"T": ("string",)}
}

WRONG_NUMBERS = dict.fromkeys(("MaxPool3D", "MaxPoolWithArgmax"), "windows of negative numbers only")
WRONG_NUMBERS["Cast"] = "fractions"
"""What kernels of wasm in 3.21.0 and 4.22.0 answer wrongly; `Cast` only from floats to bool."""


class TfjsSource:
    """A release with a backend."""

    def __init__(self, version: str, backend: str) -> None:
        self.version, self.backend = version, backend
        self.name = f"{PACKAGE} {version} ({backend})"
        self._record = _releases()[version]
        self._definitions: dict[str, OpDef | None] = {}

    def ops(self) -> list[str]:
        """The ops that it answers as TensorFlow does, sorted."""
        return sorted(op for op in self._record["ops"] if not self.problem(op) and op in known_ops())

    @property
    def layers(self) -> list[str]:
        """The classes of Keras that it has: layers, models, initializers and others."""
        names: list[str] = self._record["layers"]
        return names

    def knows(self, op: str) -> bool:
        """Whether its converter lists an op."""
        return op in self._record["ops"]

    def problem(self, op: str) -> str:
        """The error of an op that it lists and that never works, `WRONG`, `FORGETS`, or empty."""
        entry = self._record["ops"].get(op, {})
        on_wasm = entry.get("wasm_problem", "") if self.backend == "wasm" else ""
        return str(entry.get("problem", "") or on_wasm)

    def numbers_for_nan(self) -> list[str]:
        """The ops that answer a number where their input is NaN; not recorded for webgl."""
        by_backend: dict[str, list[str]] = self._record["numbersForNan"]
        return by_backend.get(self.backend, [])

    def wrong_numbers(self, op: str) -> str:
        """The inputs for which an op answers wrongly, or empty."""
        is_there = self.backend == "wasm" and self.knows(op) and not self.missing_kernels(op)
        return WRONG_NUMBERS.get(op, "") if is_there else ""

    def outputs(self, op: str) -> int | None:
        """How many outputs of an op it has, if not all."""
        count = self._record["ops"].get(op, {}).get("outputs")
        return int(count) if count is not None else None

    def missing_kernels(self, op: str) -> list[str]:
        """The kernels that an op calls and the backend does not have."""
        needed = self._record["ops"].get(op, {}).get("kernels", ())
        return [kernel for kernel in needed if kernel not in self._kernels]

    @cached_property
    def _kernels(self) -> frozenset[str]:
        return frozenset(self._record["kernels"][self.backend])

    def definition(self, op: str) -> OpDef | None:
        """TensorFlow's definition with the attribute values that work; None for an op that does not."""
        if op not in self._definitions:
            known = known_ops().get(op) if self.knows(op) and not self.problem(op) else None
            self._definitions[op] = (
                _restricted(known, self._refused(op), ASSUMED.get(op, {})) if known is not None else None
            )
        return self._definitions[op]

    def kernels(self, op: str) -> list[Kernel]:
        """One kernel for the types that work; none if the backend lacks one that the op calls."""
        definition = self.definition(op)
        if definition is None or self.missing_kernels(op):
            return []
        if op in STRUCTURE:
            return [Kernel(op, "CPU")]
        refused = self._refused(op)
        names = [attr.name for attr in definition.attr if attr.type in ("type", "list(type)")]
        allowed = {
            name: tuple(dtype for dtype in TYPES if dtype.name not in refused.get(name, ())) for name in names
        }
        return [Kernel(op, "CPU", allowed)]

    def refuses(self, op: str, attr: str, value: object) -> bool:
        """Whether no recorded case of an op with this value of an attribute answers rightly."""
        return str(value) in self._refused(op).get(attr, ())

    def _refused(self, op: str) -> dict[str, list[str]]:
        entry = self._record["ops"].get(op, {})
        parts: list[Mapping[str, Sequence[str]]] = [entry.get("refused", {}), MISSED.get(op, {})]
        if self.backend == "wasm":
            parts += [entry.get("wasm", {}), MISSED_ON_WASM.get(op, {})]
        refused: dict[str, list[str]] = {}
        for part in parts:
            for name, values in part.items():
                refused.setdefault(name, []).extend(values)
        return refused


def _restricted(known: OpDef, refused: dict[str, list[str]], assumed: dict[str, bool | int]) -> OpDef:
    """A definition whose attributes do not allow the refused texts, and only the assumed values."""
    changed = OpDef()
    changed.CopyFrom(known)
    for attr in changed.attr:
        if attr.type == "string" and attr.name in refused and attr.HasField("allowed_values"):
            kept = [text for text in attr.allowed_values.list.s if text.decode() not in refused[attr.name]]
            attr.allowed_values.list.s[:] = kept
        if attr.name in assumed:
            values, only = attr.allowed_values.list, assumed[attr.name]
            if isinstance(only, bool):
                values.b[:] = [only]
            else:
                values.i[:] = [only]
    return changed


def tfjs_versions() -> list[str]:
    """The recorded releases, the oldest first."""
    return list(_releases())


@cache
def tfjs_source(version: str, backend: str) -> TfjsSource:
    return TfjsSource(version, backend)


@cache
def _releases() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "releases.json"), encoding="utf-8") as file:
        releases: dict[str, Any] = json.load(file)["releases"]
    return releases
