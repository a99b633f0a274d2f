"""Tables of one-operator TensorFlow Lite models, compared with the recorded answers of the real interpreter.

    CASES = [
        case("ADD", f32(1, 2), f32(3, 4), fused_activation_function="RELU"),
        case("FULLY_CONNECTED", x, const(weights), None),        None: an optional input that is left out
        case("ADD", q(i8(1, 2), 0.5), q(i8(3, 4), 0.25), outputs=[out("INT8", 0.75, -3)]),
        case("RESHAPE", x, const(i32(9)), fails=True),           the interpreter fails, and so must tfport
    ]

Keywords are options of the operator; `options_type` is found in the schema by the name of the op if the
spelling differs only in case and underscores. Without `outputs` there is one output with the type of the
first input. Answers are recorded by `python -m tests.live.record_lite FAMILY` into
`tests/expected/lite_FAMILY.npz`, where FAMILY is the test file's name without `test_`; they are those of the
reference kernels, without delegates.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.runtime.answers import recorded_answers
from tests.runtime.cases import assert_same

import tfport
from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes
from tfport.lite.dtypes import NAMES

WAYS = ("engine", "host")
TYPES = {"object": "STRING"} | {numpy: lite for lite, numpy in reversed(NAMES.items())}


@dataclass(frozen=True)
class LiteInput:
    """An input: its elements, and how they are quantized."""

    array: Any
    type: str = ""
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    axis: int = 0
    constant: bool = False
    is_variable: bool = False

    @property
    def is_fed(self) -> bool:
        return not self.constant and not self.is_variable

    @property
    def record(self) -> LiteTensor:
        quantization = TensorQuantization(self.scale, self.zero_point, self.axis) if self.scale else None
        kind = self.type or TYPES[str(self.array.dtype)]
        return LiteTensor(
            "", kind, self.array.shape, 0, quantization, is_variable=self.is_variable, has_rank=True
        )


@dataclass(frozen=True)
class LiteOutput:
    """An output: its type, and how it is quantized."""

    type: str
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()


def const(value: Any) -> LiteInput:
    """A constant input."""
    return LiteInput(**{**vars(_input(value)), "constant": True})


def q(array: Any, scale: Any, zero_point: Any = 0, axis: int = 0, type: str = "") -> LiteInput:
    """An input whose integers stand for real numbers; several scales for one each along an axis."""
    scales = tuple(np.atleast_1d(scale).astype(np.float32).tolist())
    points = tuple(np.broadcast_to(zero_point, len(scales)).tolist())
    return LiteInput(np.asarray(array), type, scales, points, axis)


def out(type: str, scale: float | None = None, zero_point: int = 0, shape: Sequence[int] = ()) -> LiteOutput:
    """An output."""
    if scale is None:
        return LiteOutput(type, shape=tuple(shape))
    return LiteOutput(type, (float(np.float32(scale)),), (zero_point,), tuple(shape))


def _input(value: Any) -> LiteInput:
    return value if isinstance(value, LiteInput) else LiteInput(np.asarray(value))


@dataclass
class LiteCase:
    """One operator and its inputs."""

    op: str
    inputs: list[LiteInput | None]
    options: dict[str, Any]
    outputs: list[LiteOutput]
    version: int = 1
    custom: str = ""
    custom_options: bytes = b""
    options_type: str = ""
    fails: bool = False
    rtol: float | None = None
    atol: float | None = None
    ulps: float | None = None
    steps: int = 0
    """By how many steps integers may differ from the reference kernels."""
    ways: Sequence[str] = WAYS
    subgraphs: list[Subgraph] = field(default_factory=list)
    """Further subgraphs, for control flow."""

    def __str__(self) -> str:
        return self.name

    @functools.cached_property
    def name(self) -> str:
        """The op and a digest of the model and its feeds."""
        digest = hashlib.sha256(self.model)
        for array in self.feeds:
            data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
            digest.update(f"{array.dtype}{array.shape}".encode() + data)
        return f"{self.custom or self.op}-{digest.hexdigest()[:10]}"

    @functools.cached_property
    def feeds(self) -> list[Any]:
        return [i.array for i in self.inputs if i is not None and i.is_fed]

    @functools.cached_property
    def model(self) -> bytes:
        """The bytes of the file."""
        buffers: list[bytes] = [b""]
        tensors: list[LiteTensor] = []
        indices: list[int] = []
        for place, each in enumerate(self.inputs):
            if each is None:
                indices.append(-1)
                continue
            record = each.record
            record.name = f"in{place}"
            if each.constant:
                record.buffer = len(buffers)
                buffers.append(_data(each.array, record.type))
            indices.append(len(tensors))
            tensors.append(record)
        fed = [
            index
            for index, each in zip(indices, self.inputs, strict=True)
            if each is not None and each.is_fed
        ]
        first = len(tensors)
        for place, output in enumerate(self.outputs):
            quantization = TensorQuantization(output.scale, output.zero_point) if output.scale else None
            tensors.append(LiteTensor(f"out{place}", output.type, output.shape, 0, quantization))
        ends = tuple(range(first, len(tensors)))
        number = lite_schema().enums["BuiltinOperator"].numbers[self.op]
        code = OperatorCode(self.op, number, self.version, self.custom)
        operator = LiteOperator(
            code, tuple(indices), ends, self.options, self._options_type(), self.custom_options
        )
        main = Subgraph("main", tensors, [operator], tuple(fed), ends)
        return lite_bytes(LiteFile("case", 3, "", [code], [main, *self.subgraphs], [], buffers, []))

    def _options_type(self) -> str:
        if self.options_type or not self.options:
            return self.options_type
        unions = lite_schema().unions
        names = {n.lower(): n for union in ("BuiltinOptions", "BuiltinOptions2") for n in unions[union]}
        return names[self.op.replace("_", "").lower() + "options"]


def _data(array: Any, kind: str) -> bytes:
    if kind == "STRING":
        parts = [bytes(text) for text in array.reshape(-1)]
        start = 4 * (len(parts) + 2)
        offsets = np.cumsum([start, *map(len, parts)])
        return np.array([len(parts), *offsets], "<i4").tobytes() + b"".join(parts)
    if kind in ("INT4", "UINT4"):
        flat = array.reshape(-1).astype(np.uint8) & 15
        flat = np.append(flat, np.zeros(len(flat) % 2, np.uint8))
        return (flat[::2] | flat[1::2] << 4).tobytes()
    return np.ascontiguousarray(array).tobytes() or b""


KEYWORDS = (
    "outputs", "version", "custom", "custom_options", "options_type", "fails", "rtol", "atol", "ulps",
    "steps", "ways", "subgraphs",
)  # fmt: skip


def case(op: str, *inputs: Any, **options: Any) -> LiteCase:
    """An operator and its inputs; keywords are options, except those in KEYWORDS."""
    chosen = {k: options.pop(k) for k in KEYWORDS if k in options}
    records = [None if value is None else _input(value) for value in inputs]
    if "outputs" not in chosen:
        first = records[0]
        assert first is not None
        chosen["outputs"] = [LiteOutput(first.record.type, first.scale, first.zero_point)]
    return LiteCase(op, records, options, **chosen)


def checks(cases: Sequence[LiteCase]) -> list[Any]:
    """The cases, for `pytest.mark.parametrize("c", …)`."""
    return [pytest.param(c, id=c.name) for c in cases]


def check(family: str, c: LiteCase) -> None:
    """Compare a case with the recorded answer in each way."""
    answers = recorded_answers(f"lite_{family}")
    if c.name not in answers:
        pytest.fail(
            f"no recorded answer for {c}: run `python -m tests.live.record_lite {family}`", pytrace=False
        )
    expected = answers[c.name]
    assert isinstance(expected, str) == c.fails, f"the interpreter says: {expected}"
    if c.fails:
        with pytest.raises(tfport.Error):
            run(c, "engine")
        return
    for way in c.ways:
        actual = run(c, way)
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            if c.steps and theirs.dtype.kind in "iu":
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
                assert np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0) <= c.steps
            else:
                assert_same(ours, theirs, c)  # type: ignore[arg-type]


def run(c: LiteCase, way: str) -> list[Any]:
    """Run a case in tfport."""
    model = tfport.load(c.model)
    session = tfport.Session(model, engine="none" if way == "host" else "onnxruntime")
    signature = model.signatures["serving_default"]
    names = [f"in{place}" for place, each in enumerate(c.inputs) if each is not None and each.is_fed]
    feeds = {signature.inputs[name].tensors[0]: array for name, array in zip(names, c.feeds, strict=True)}
    fetches = [signature.outputs[f"out{place}"].tensors[0] for place in range(len(c.outputs))]
    return list(session.run(fetches, feeds))
