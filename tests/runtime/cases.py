"""Tables of cases: an op (or a few lines of a graph) on inputs, compared with TensorFlow's recorded answers.

    CASES = [
        case("LeakyRelu", f32(-2, 0, 3), alpha=0.5),
        case("ConcatV2", [f32(1), f32(2)], i32(0)[0]),       a list input is a list of arrays
        case("Reshape", f32(1, 2), i32(3, 3), fails=True),   TensorFlow raises an error, and so must tfport
        graph_case("y = Neg(x) {T=float32}", fetches="y:0", x=f32(1)),
    ]

Type attributes default to the dtypes of the inputs. Answers are recorded by `make record-ops` into
`tests/expected/FAMILY.npz`, where FAMILY is the test file's name without `test_`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recorded_models import OPS, graph
from tests.runtime.answers import recorded_answers
from tests.runtime.engines.all_elsewhere import session_elsewhere
from tests.runtime.engines.gpu.on_cpu import session_on_cpu

import tfport
from tfport.discovery import load_package
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import encode
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import DType
from tfport.graph.tensors import Tensor
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.lower import FAMILIES, KERNELS, LOWERINGS, STRUCTURES

ROOT = Path(__file__).parents[2]
DEVICE = os.environ.get("TFPORT_TEST_DEVICE", "cpu")
"""Where islands run: `cuda` to run each case on a GPU, in the way `engine` only; `stand-in` for the engine of
a GPU with the CPU in its place; `openvino` or `litert` for `engines.all_elsewhere`."""
GPU = GpuOptions(precision="float32", max_graphs=0, require=True)
WAYS = ("engine", "fed", "static", "host")
"""How a case is run: `engine`: as in real models, with small integer vectors constant; `fed`: all inputs fed;
`static`: all sizes known and integers after the first input constant; `host`: host kernels only."""


@dataclass
class Case:
    """One node and its inputs."""

    op: str
    inputs: list[Any]
    attrs: dict[str, Any]
    types: list[DType | None] = field(default_factory=list)
    ulps: float | None = None
    rtol: float | None = None
    atol: float | None = None
    fails: bool = False
    says: bool = False
    """Whether tfport must fail with TensorFlow's own words."""
    ways: Sequence[str] = WAYS
    sized: str = ""
    """NumPy kinds of the inputs whose sizes are always known, for ops that need them in TensorFlow."""
    text: str = ""
    feeds: dict[str, Any] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.name

    @functools.cached_property
    def name(self) -> str:
        """The op and a digest of the graph and its feeds."""
        graph_def, feeds = self.model("fed")
        digest = hashlib.sha256(graph_def.SerializeToString(deterministic=True))
        for name, array in feeds.items():
            data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
            digest.update(f"{name}{array.dtype}{array.shape}".encode() + data)
        return f"{self.op}-{digest.hexdigest()[:10]}"

    def model(self, way: str) -> tuple[pb.GraphDef, dict[str, Any]]:
        """The graph and its feeds."""
        if self.text:
            return self._parsed, {f"{k}:0": v for k, v in self.feeds.items()}
        made, feeds = pb.GraphDef(), {}
        made.versions.producer = 2474
        node = pb.NodeDef(name="node", op=self.op)
        for name, value in self._attributes().items():
            node.attr[name].CopyFrom(encode(value))
        for i, (array, dtype) in enumerate(self._flat()):
            name = f"in{i}"
            sizes = self._sizes_of(i, array, way)
            node.input.append(name)
            if sizes is None:
                made.node.append(_constant(name, array, dtype))
            else:
                made.node.append(_placeholder(name, dtype, sizes))
                feeds[f"{name}:0"] = array
        made.node.append(node)
        return made, feeds

    @functools.cached_property
    def _parsed(self) -> pb.GraphDef:
        return graph_to_def(graph(self.text))

    def _sizes_of(self, place: int, array: Any, way: str) -> list[int] | None:
        """The sizes of the placeholder of an input, -1 where unknown; None if the input is a constant."""
        if self._is_constant(place, array, "engine" if self.sized else way):
            return None
        known = way == "static" or array.dtype.kind in self.sized
        return [size if known else -1 for size in array.shape]

    def _is_constant(self, place: int, array: Any, way: str) -> bool:
        if way == "static" and place > 0 and array.dtype.kind in "iub":
            return True
        return way != "fed" and array.ndim < 2 and array.dtype.kind in "iu" and array.size < 64

    def _flat(self) -> Iterator[tuple[Any, DType]]:
        args = OPS.get(self.op).inputs
        for i, value in enumerate(self.inputs):
            for array in value if isinstance(value, list) else [value]:
                yield (
                    array,
                    (self.types[i] if i < len(self.types) else None) or args[i].type or dtype_of(array),
                )

    def _attributes(self) -> dict[str, Any]:
        """The attributes of the case and those that follow from the inputs."""
        attrs = dict(self.attrs)
        for i, (arg, value) in enumerate(zip(OPS.get(self.op).inputs, self.inputs, strict=True)):
            dtype = self.types[i] if i < len(self.types) else None
            if arg.list_attr:
                attrs.setdefault(arg.list_attr, [dtype_of(array) for array in value])
            elif arg.type_attr and len(values := value if isinstance(value, list) else [value]):
                first = values[0]
                attrs.setdefault(arg.type_attr, dtype or dtype_of(first))
            if arg.number_attr:
                attrs.setdefault(arg.number_attr, len(value))
        return attrs

    def outputs(self) -> list[str]:
        if self.text:
            return self.fetches
        count = OPS.get(self.op).output_count(self._attributes()) or 0
        return [f"node:{i}" for i in range(count)] or ["node"]


OPTIONS = ("types", "ulps", "rtol", "atol", "fails", "says", "ways", "sized")


def case(op: str, *inputs: Any, **attrs: Any) -> Case:
    """A node and its inputs; keywords are attributes, except those in OPTIONS."""
    options = {k: attrs.pop(k) for k in OPTIONS if k in attrs}
    return Case(op, [i if isinstance(i, list) else np.asarray(i) for i in inputs], attrs, **options)


sized = functools.partial(case, sized="iu")
"""A case whose integer inputs have known sizes."""
all_sized = functools.partial(case, sized="iuf")
"""A case whose inputs all have known sizes."""


def graph_case(text: str, *, fetches: str | list[str], name: str = "graph", **feeds: Any) -> Case:
    """A few nodes in the node notation; other keywords feed its placeholders."""
    options = {k: feeds.pop(k) for k in ("ulps", "rtol", "atol", "fails", "says", "ways") if k in feeds}
    wanted = [fetches] if isinstance(fetches, str) else fetches
    options.setdefault("ways", ("engine", "host"))
    return Case(name, [], {}, text=text, fetches=wanted, feeds=feeds, **options)


def run(c: Case, way: str) -> list[Any]:
    """Run a case in tfport."""
    return _run_program(c, *_program(c, way))


def _program(c: Case, way: str) -> tuple[bytes, str, dict[str, Any]]:
    """The graph, the engine and the feeds of a way."""
    graph_def, feeds = c.model(way)
    engine = "none" if way == "host" else "onnxruntime"
    return graph_def.SerializeToString(deterministic=True), engine, feeds


def _run_program(c: Case, graph_def: bytes, engine: str, feeds: dict[str, Any]) -> list[Any]:
    model = tfport.load(graph_def)
    if DEVICE == "stand-in" and engine != "none":
        return session_on_cpu(model, precision="float32").run(c.outputs(), feeds)
    if DEVICE in ("openvino", "litert") and engine != "none":
        return session_elsewhere(model, DEVICE).run(c.outputs(), feeds)
    device = "cpu" if engine == "none" else DEVICE
    return tfport.Session(model, engine=engine, device=device, gpu=GPU).run(c.outputs(), feeds)


def families() -> dict[str, str]:
    """The modules with tables of cases, by the name of the recorded answers that their tests check."""
    modules = {}
    for file in sorted(ROOT.glob("tests/runtime/**/test_*.py")):
        text = file.read_text()
        checked = re.search(r'\bcheck\("(\w+)", c, ways?\)', text)
        if "\nCASES" in text and checked:
            modules[checked[1]] = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    return modules


def cases_of(family: str) -> list[Case]:
    """The cases of a family."""
    table: list[Case] = importlib.import_module(families()[family]).CASES
    return table


def recorded(family: str, c: Case) -> Any:
    """The recorded answer of TensorFlow: arrays, or the text of its error."""
    answers = recorded_answers(family)
    if c.name not in answers:
        pytest.fail(f"no recorded answer of TensorFlow for {c}: run `make record-ops`", pytrace=False)
    return answers[c.name]


def checks(cases: Sequence[Case], without: str = "") -> list[Any]:
    """Each case with the ways to run it, for `pytest.mark.parametrize(("c", "ways"), …)`.

    `without` is a way that says nothing new about these cases; a graph is run in all its ways.
    """
    load_package(FAMILIES)
    possible = ((c, [way for way in _possible(c) if c.text or way != without]) for c in cases)
    return [pytest.param(c, ways, id=c.name) for c, ways in possible if ways]


def _possible(c: Case) -> list[str]:
    on_host = c.text or c.op in KERNELS.entries or c.op in STRUCTURES.entries
    in_engine = on_host or c.op in LOWERINGS.entries
    ways = c.ways if DEVICE == "cpu" else [way for way in c.ways if way == "engine"]
    return [way for way in ways if (on_host if way == "host" else in_engine)]


def check(family: str, c: Case, ways: Sequence[str]) -> None:
    """Compare a case with TensorFlow's recorded answer in each way."""
    check_answer(c, recorded(family, c), ways)


def check_answer(c: Case, expected: Any, ways: Sequence[str]) -> None:
    """Compare a case with an answer in each way; all ways that fail are reported."""
    programs, failures = set(), []
    for way in ways:
        graph_def, engine, feeds = _program(c, way)
        if (graph_def, engine) in programs:
            continue  # if nothing is constant, `fed` is the program of `engine`
        programs.add((graph_def, engine))
        try:
            _compare(c, expected, lambda program=(graph_def, engine, feeds): _run_program(c, *program))
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"{c} in the way `{way}`")
            failures.append(error)
    if failures:
        raise failures[0] if len(failures) == 1 else BaseExceptionGroup(f"{c} fails", failures)


def _compare(c: Case, expected: Any, run_case: Callable[[], list[Any]]) -> None:
    if c.fails or c.says:
        assert isinstance(expected, str), "TensorFlow runs this case"
        with pytest.raises(tfport.Error) as caught:
            run_case()
        if c.says:
            message = str(caught.value)
            assert message.partition("): ")[2] == expected, message
        return
    assert not isinstance(expected, str), f"TensorFlow says: {expected}"
    actual = run_case()
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        assert_same(ours, theirs, c)


def assert_same(ours: Any, theirs: Any, c: Case) -> None:
    """Same type and shape; integers, strings and bools the same, floats within the case's tolerance."""
    if theirs is None:
        assert ours is None
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind not in "fcV":
        assert ours.tolist() == theirs.tolist()
        return
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    a, b = ours.astype(kind), theirs.astype(kind)
    if c.ulps is not None:
        assert_ulps(a, b, theirs.dtype, c.ulps)
        return
    rtol = c.rtol if c.rtol is not None else TOLERANCE.get(theirs.dtype.name, 1e-5)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=c.atol if c.atol is not None else rtol * 0.1)


TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float64": 1e-10, "complex128": 1e-10}


def assert_ulps(a: Any, b: Any, dtype: Any, ulps: float) -> None:
    import ml_dtypes

    assert np.array_equal(np.isnan(a), np.isnan(b))
    finite = np.isfinite(b)
    assert np.array_equal(a[~finite & ~np.isnan(b)], b[~finite & ~np.isnan(b)])
    step = np.abs(b[finite]) * float(ml_dtypes.finfo(dtype).eps) + float(ml_dtypes.finfo(dtype).tiny)
    assert np.all(np.abs(a[finite] - b[finite]) <= ulps * step)


def same_as(old: Case, new: Case) -> None:
    """Compare an op that TensorFlow no longer has with its replacement."""
    for way in ("engine", "host"):
        for ours, theirs in zip(run(old, way), run(new, way), strict=True):
            assert_same(ours, theirs, new)


def dtype_of(array: Any) -> DType:
    return DType.parse("string" if array.dtype.kind in "OS" else array.dtype.name)


def _placeholder(name: str, dtype: DType, sizes: Sequence[int]) -> pb.NodeDef:
    node = pb.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = dtype.number
    for size in sizes:
        node.attr["shape"].shape.dim.add(size=size)
    node.attr["shape"].shape.SetInParent()
    return node


def _constant(name: str, array: Any, dtype: DType) -> pb.NodeDef:
    node = pb.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = dtype.number
    node.attr["value"].tensor.CopyFrom(Tensor.from_numpy(array, dtype).to_proto())
    return node


def _of(kind: Any) -> Any:
    return lambda *values: np.array(values, kind)


@functools.cache
def _narrow(name: str) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


f32, f64, f16 = _of(np.float32), _of(np.float64), _of(np.float16)
i8, i16, i32, i64 = _of(np.int8), _of(np.int16), _of(np.int32), _of(np.int64)
u8, u16, u32, u64 = _of(np.uint8), _of(np.uint16), _of(np.uint32), _of(np.uint64)
c64, c128, boolean = _of(np.complex64), _of(np.complex128), _of(np.bool_)


def bf16(*values: Any) -> Any:
    return np.array(values, np.float32).astype(_narrow("bfloat16"))


def strings(*values: Any) -> Any:
    """An array of bytes; nested lists make more axes."""
    array = np.array(values, object)
    flat = [v if isinstance(v, bytes) else v.encode() for v in array.reshape(-1).tolist()]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)


def scalar(value: Any, kind: Any = np.int32) -> Any:
    return np.array(value, kind)


def wrapped(array: Any, kind: Any) -> Any:
    """Numbers as another type; integers out of range wrap, on every processor."""
    return array.astype(np.int64).astype(kind) if np.dtype(kind).kind == "u" else array.astype(kind)


def numbers(*shape: int, kind: Any = np.float32, seed: int = 0, low: float = -2, high: float = 2) -> Any:
    """Random numbers of a shape, the same ones each time."""
    made = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    return np.asarray(made).astype(kind)
