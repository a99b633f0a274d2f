"""Tables of one-operator TensorFlow Lite models, compared with the recorded answers of the real interpreter.

    CASES = [
        case("ADD", f32(1, 2), f32(3, 4), fused_activation_function="RELU"),
        case("FULLY_CONNECTED", x, const(weights), None),        None: an optional input that is left out
        case("ADD", q(i8(1, 2), 0.5), q(i8(3, 4), 0.25), outputs=[out("INT8", 0.75, -3)]),
        case("RESHAPE", x, const(i32(9)), fails=True),           the interpreter fails, and so must tfport
        graph_case("CALL_ONCE", file, x),                       a LiteFile of several operators, and its feeds
    ]

Keywords are options of the operator; `options_type` is found in the schema by the name of the op if the
spelling differs only in case and underscores. Without `outputs` there is one output with the type of the
first input. Answers are recorded by `python -m tests.live.record_lite FAMILY` into
`tests/expected/lite_FAMILY.npz`, where FAMILY is the test file's name without `test_`. They are those of the
reference kernels, without delegates; integers must be the same. Where the optimized kernels answer otherwise,
their integers are recorded too, and must be at most one step away (`optimized_steps`); where only these run a
case, they take the place of the reference kernels. A case whose second run answers otherwise has state: both
answers are recorded.
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
from tfport.engine_names import USUAL
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
from tfport.frontends.lite.constants import NAMES

WAYS = ("engine", "host")
ENGINES = {"engine": "onnxruntime", "host": "none", "file": USUAL}
"""`file`: as it is, in LiteRT, if it may run there."""
OPTIMIZED, AGAIN = "optimized ", "again "
"""Prefixes of further answers: of the optimized kernels, and of a second run."""
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
    """By how many steps the integers of the engine may differ from the reference kernels; on the host: 0."""
    optimized_steps: int | None = 1
    """By how many from the optimized kernels; None if these are not compared."""
    optimized: bool = False
    """Whether only the optimized kernels are asked: both mean different things."""
    delegated: bool = False
    """Whether only XNNPACK runs it, the default delegate."""
    ways: Sequence[str] = WAYS
    subgraphs: list[Subgraph] = field(default_factory=list)
    """Further subgraphs, for control flow."""
    file: LiteFile | None = None
    """The whole file, if it is not of one operator; its inputs are fed in their order."""

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

    @property
    def ends(self) -> tuple[list[str], list[str]]:
        """The names of the inputs that are fed, and of the outputs."""
        if self.file is not None:
            main = self.file.subgraphs[0]
            return [main.tensors[i].name for i in main.inputs], [main.tensors[i].name for i in main.outputs]
        fed = [f"in{place}" for place, each in enumerate(self.inputs) if each is not None and each.is_fed]
        return fed, [f"out{place}" for place in range(len(self.outputs))]

    @functools.cached_property
    def model(self) -> bytes:
        """The bytes of the file."""
        if self.file is not None:
            return lite_bytes(self.file)
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
                buffers.append(tensor_bytes(each.array, record.type))
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


def tensor_bytes(array: Any, kind: str) -> bytes:
    """The elements of a constant as a buffer has them."""
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
    "steps", "optimized_steps", "optimized", "delegated", "ways", "subgraphs",
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


def graph_case(op: str, file: LiteFile, *feeds: Any, **more: Any) -> LiteCase:
    """A file of several operators, named after the op that it is about; keywords are those in KEYWORDS."""
    return LiteCase(op, [_input(array) for array in feeds], {}, [], file=file, **more)


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
    expected, optimized = answers[c.name], answers.get(OPTIMIZED + c.name)
    assert isinstance(expected, str) == c.fails, f"the interpreter says: {expected}"
    if c.fails:
        with pytest.raises(tfport.Error):
            run(c, "engine")
        return
    second = answers.get(AGAIN + c.name, [])
    for way in c.ways:
        actual = run(c, way, 2 if second else 1)
        for ours, theirs in zip(actual, [*expected, *second], strict=True):
            _assert_close(c, ours, theirs, c.steps if way == "engine" else 0)
        if optimized and c.optimized_steps is not None:
            for ours, theirs in zip(actual, optimized, strict=False):
                if theirs is not None:
                    _assert_close(c, ours, theirs, max(c.steps, c.optimized_steps))


def _assert_close(c: LiteCase, ours: Any, theirs: Any, steps: int) -> None:
    """Integers within so many steps, anything else as in `tests/runtime`."""
    if steps and theirs.dtype.kind in "iu":
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0) <= steps
    else:
        assert_same(ours, theirs, c)  # type: ignore[arg-type]


def run(c: LiteCase, way: str, times: int = 1) -> list[Any]:
    """Run a case in tfport, several times in the same session; return the outputs of all runs."""
    model = tfport.load(c.model)
    session = tfport.Session(model, engine=ENGINES[way])
    signature = model.signatures["serving_default"]
    inputs, outputs = c.ends
    feeds = {signature.inputs[name].tensors[0]: array for name, array in zip(inputs, c.feeds, strict=True)}
    fetches = [signature.outputs[name].tensors[0] for name in outputs]
    return [array for _ in range(times) for array in session.run(fetches, feeds)]
