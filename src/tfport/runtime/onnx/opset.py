"""The nodes of a model in another version of ONNX's ops than the one that the lowerings use.

`nodes_at(nodes, opset)` rewrites what an older version says differently (axes that became an input, the
sizes of some axes) and composes what it lacks; a CannotRun names each node that cannot be said, with the
opset that it needs. Newer versions only add types, attributes and ops. In every version, what other readers
of files lack is said with what they have, if that is the same (`_PLAIN`). `opsets.json` has what each version
takes, recorded from the `onnx` package (tools/onnx_opsets.py).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfport.errors import CannotRun, Error
from tfport.graph.dtypes import BOOL, INT32, INT64
from tfport.runtime.onnx.builder import OPSET, Builder
from tfport.runtime.onnx.known_values import index_mask
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.startup.dataclass import dataclass

OLDEST = 13
MAX_LISTED = 20
REDUCTIONS = frozenset(
    ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
     "ReduceProd", "ReduceSumSquare")
)  # fmt: skip
"""Their axes are an input from opset 18 on; those of ReduceSum since opset 13."""
_VALUES = {
    ("Pad", "mode", "wrap"): 19,
    ("Resize", "coordinate_transformation_mode", "half_pixel_symmetric"): 19,
    ("ScatterElements", "reduction", "max"): 18,
    ("ScatterElements", "reduction", "min"): 18,
    ("ScatterND", "reduction", "max"): 18,
    ("ScatterND", "reduction", "min"): 18,
}
"""The opset that brought a value of an attribute."""
_DEFAULTS: dict[str, dict[str, Any]] = {
    "AveragePool": {"dilations": None},
    "Reshape": {"allowzero": 0},
    "Resize": {"antialias": 0, "keep_aspect_ratio_policy": "stretch"},
    "ScatterElements": {"reduction": "none"},
    "ScatterND": {"reduction": "none"},
    "QuantizeLinear": {"saturate": 1},
}
"""Values of newer attributes that mean what older versions do."""


@dataclass(frozen=True, slots=True)
class OnnxOpVersion:
    """What a version of an op takes."""

    since: int
    attrs: frozenset[str]
    most_inputs: int
    types: tuple[frozenset[str], ...]
    """Of each input; the last one's are those of all further inputs."""

    def takes_types(self, inputs: Sequence[Operand | None]) -> bool:
        return all(
            operand is None or operand.dtype.name in self.types[min(index, len(self.types) - 1)]
            for index, operand in enumerate(inputs)
            if self.types
        )

    def takes(self, node: OnnxNode) -> bool:
        return (
            len(node.inputs) <= self.most_inputs
            and self.attrs.issuperset(node.attrs)
            and self.takes_types(node.inputs)
            and all(self.since >= since for since in _needed_by_values(node))
        )


def _needed_by_values(node: OnnxNode) -> Iterator[int]:
    for name, value in node.attrs.items():
        if isinstance(value, str) and (since := _VALUES.get((node.op, name, value))) is not None:
            yield since


def ir_version(opset: int) -> int:
    """The version of the file format that ONNX released with an opset, which the oldest readers take."""
    return int(_recorded()["ir_versions"][str(opset)])


def check_opset(opset: int, newest: int) -> None:
    if not OLDEST <= opset <= newest:
        raise Error(f"--opset {opset}: expected {OLDEST} to {newest}, the newest that ONNX Runtime here has")


def nodes_at(nodes: Iterable[OnnxNode], opset: int) -> list[OnnxNode]:
    """The nodes in a version of ONNX's ops; CannotRun names those that it cannot say."""
    problems: dict[str, None] = {}
    converted = _converted(nodes, opset, problems)
    if problems:
        more = f"; and {len(problems) - MAX_LISTED} more" if len(problems) > MAX_LISTED else ""
        raise CannotRun(f"not possible with --opset {opset}: {'; '.join([*problems][:MAX_LISTED])}{more}")
    return converted


def _converted(nodes: Iterable[OnnxNode], opset: int, problems: dict[str, None]) -> list[OnnxNode]:
    converted: list[OnnxNode] = []
    for node in nodes:
        node = _with_bodies(node, opset, problems)
        plain = None if node.domain else _PLAIN.get(node.op)
        if plain is not None and (composed := _composed(node, plain, opset)):
            converted += composed
            continue
        if node.domain or _takes(node, opset):
            converted.append(node)
            continue
        rewritten = _rewritten(node, opset)
        converted += rewritten
        if rewritten == [node]:
            problems[f"`{_label(node)}` ({node.op}): {_why(node, _versions()[node.op], opset)}"] = None
    return converted


def _with_bodies(node: OnnxNode, opset: int, problems: dict[str, None]) -> OnnxNode:
    if not node.programs:
        return node
    attrs = {
        name: _body(value, opset, problems) if isinstance(value, Program) else value
        for name, value in node.attrs.items()
    }
    return OnnxNode(node.op, node.inputs, node.outputs, attrs, node.domain)


def _body(program: Program, opset: int, problems: dict[str, None]) -> Program:
    nodes = [node for step in program.steps for node in step.lowered or ()]
    return Program(program.args, [Step("", "", (), (), _converted(nodes, opset, problems))], program.results)


def _at(versions: dict[int, OnnxOpVersion], opset: int) -> OnnxOpVersion | None:
    """The version of an op that an opset has; None if the op is newer."""
    known = [since for since in versions if since <= opset]
    return versions[max(known)] if known else None


def _label(node: OnnxNode) -> str:
    return node.outputs[0].name.partition("#")[0] if node.outputs else node.op


def _why(node: OnnxNode, versions: dict[int, OnnxOpVersion], opset: int) -> str:
    """What a node needs, in words."""
    takes = sorted(since for since, version in versions.items() if since > opset and version.takes(node))
    version = _at(versions, opset)
    if version is None:
        return f"{node.op} needs opset {min(versions)}"
    if not version.takes_types(node.inputs):
        kinds = ", ".join(dict.fromkeys(o.dtype.name for o in node.inputs if o is not None))
        about = f"{node.op} of {kinds}"
    else:
        values = [
            f"{n}={v}" for n, v in node.attrs.items() if isinstance(v, str) and (node.op, n, v) in _VALUES
        ]
        names = [f"its attribute {n}" for n in node.attrs if n not in version.attrs]
        about = next(iter([*values, *names]), "this number of inputs")
    return f"{about} needs opset {takes[0]}" if takes else f"{about} is not in opset {opset}"


@functools.cache
def _recorded() -> dict[str, Any]:
    text = Path(__file__).with_name("opsets.json").read_text("utf-8")
    recorded: dict[str, Any] = json.loads(text)
    return recorded


@functools.cache
def _versions() -> dict[str, dict[int, OnnxOpVersion]]:
    types = [frozenset(names.split()) for names in _recorded()["types"]]
    return {
        op: {
            int(since): OnnxOpVersion(
                int(since),
                frozenset(row["attrs"]),
                row["most"],
                tuple(types[index] for index in row["inputs"]),
            )
            for since, row in versions.items()
        }
        for op, versions in _recorded()["ops"].items()
    }


# How an older version says what a node does.

Rewrite = Callable[[Builder, OnnxNode], Operand | None]
"""The operand that equals the only output of a node, from nodes that are added; None if there is none."""


def _rewritten(node: OnnxNode, opset: int) -> list[OnnxNode]:
    """The nodes that compute a node in an older opset; the node itself if there are none."""
    plain = _without_defaults(node)
    rewrite = _axes_as_attribute if node.op in REDUCTIONS else _REWRITES.get(node.op)
    if rewrite is not None and opset < OPSET and (composed := _composed(plain, rewrite, opset)):
        return composed
    return [plain] if plain is not node and _takes(plain, opset) else [node]


def _composed(node: OnnxNode, rewrite: Rewrite, opset: int) -> list[OnnxNode]:
    """The nodes of a rewrite; none if it has none, or some that the opset lacks."""
    builder = Builder(_label(node))
    result = rewrite(builder, node)
    if result is None or not builder.added:
        return []
    last = builder.added[-1]
    added = [*builder.added[:-1], OnnxNode(last.op, last.inputs, node.outputs, last.attrs)]
    return added if all(_takes(other, opset) for other in added) else []


def _takes(node: OnnxNode, opset: int) -> bool:
    versions = _versions().get(node.op)
    version = _at(versions, opset) if versions else None
    return versions is None or (version is not None and version.takes(node))


def _without_defaults(node: OnnxNode) -> OnnxNode:
    """A node without the attributes that say what older versions do anyway."""
    defaults = _DEFAULTS.get(node.op, {})
    attrs = {
        name: value
        for name, value in node.attrs.items()
        if name not in defaults or not (value == defaults[name] or _is_usual(node, name, value))
    }
    if len(attrs) == len(node.attrs):
        return node
    return OnnxNode(node.op, node.inputs, node.outputs, attrs)


def _is_usual(node: OnnxNode, name: str, value: Any) -> bool:
    return node.op == "AveragePool" and name == "dilations" and all(step == 1 for step in value)


def _axes_as_attribute(b: Builder, node: OnnxNode) -> Operand | None:
    data, axes = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else None
    attrs = {name: value for name, value in node.attrs.items() if name != "noop_with_empty_axes"}
    if data is None or (axes is not None and axes.array is None):
        return None
    if axes is None or not axes.array.size:  # type: ignore[union-attr]
        if node.attrs.get("noop_with_empty_axes"):
            return b.Identity(data)
        return b.nodes(node.op, data, **attrs)[0]
    assert axes.array is not None
    return b.nodes(node.op, data, axes=[int(axis) for axis in axes.array.reshape(-1)], **attrs)[0]


def _reshaped(b: Builder, node: OnnxNode) -> Operand | None:
    """Before opset 14 a size of 0 copies that of the input: the same unless the tensor is empty."""
    data, sizes = node.inputs
    assert data is not None
    assert sizes is not None
    if sizes.array is not None and 0 in sizes.array:
        return None
    return b.Reshape(data, sizes)


def _reshaped_to_known_sizes(b: Builder, node: OnnxNode) -> Operand | None:
    """Sizes of which none is 0 mean the same without `allowzero`, which few readers know."""
    known = node.inputs[1] is not None and node.inputs[1].array is not None
    return _reshaped(b, node) if known and node.attrs.get("allowzero") else None


def _part_of_shape(b: Builder, node: OnnxNode) -> Operand | None:
    """Sizes of some axes: a slice of the shape."""
    (data,) = node.inputs
    assert data is not None
    start, end = int(node.attrs.get("start", 0)), int(node.attrs.get("end", np.iinfo(np.int64).max))
    return b.Slice(b.Shape(data), b.ints(start), b.ints(end), b.ints(0))


def _split(b: Builder, node: OnnxNode) -> Operand | None:
    """Parts of equal size need no number before opset 18."""
    if "num_outputs" not in node.attrs or len(node.inputs) > 1:
        return None
    attrs = {name: value for name, value in node.attrs.items() if name != "num_outputs"}
    data = node.inputs[0]
    assert data is not None
    size = (data.shape or ())[attrs.get("axis", 0)] if data.shape else None
    if size is None or size % len(node.outputs):
        return None
    return b.nodes("Split", data, outputs=len(node.outputs), **attrs)[0]


def _pads_of_all_axes(b: Builder, node: OnnxNode) -> Operand | None:
    data, pads, *rest = node.inputs
    axes = rest[1] if len(rest) > 1 else None
    if data is None or pads is None or axes is None or pads.array is None or axes.array is None:
        return None
    if data.rank is None:
        return None
    whole = np.zeros((2, data.rank), np.int64)
    whole[:, axes.array.reshape(-1)] = pads.array.reshape(2, -1)
    return b.Pad(data, b.const(whole.reshape(-1), INT64), *rest[:1], **node.attrs)


def _gelu(b: Builder, node: OnnxNode) -> Operand | None:
    (x,) = node.inputs
    assert x is not None
    half, unit = b.const(0.5, x.dtype), b.const(1, x.dtype)
    if node.attrs.get("approximate", "none") == "tanh":
        cube = b.Mul(b.Mul(b.Mul(x, x), x), b.const(0.044715, x.dtype))
        inner = b.Tanh(b.Mul(b.Add(x, cube), b.const(math.sqrt(2 / math.pi), x.dtype)))
    else:
        inner = b.Erf(b.Mul(x, b.const(math.sqrt(0.5), x.dtype)))
    return b.Mul(b.Mul(x, half), b.Add(inner, unit))


def _layer_normalization(b: Builder, node: OnnxNode) -> Operand | None:
    x, scale, *bias = node.inputs
    if x is None or scale is None or x.rank is None or len(node.outputs) > 1:
        return None
    first = node.attrs.get("axis", -1) % x.rank
    axes = list(range(first, x.rank))
    centered = b.Sub(x, b.ReduceMean(x, axes=axes, keepdims=1))
    variance = b.ReduceMean(b.Mul(centered, centered), axes=axes, keepdims=1)
    spread = b.Sqrt(b.Add(variance, b.const(node.attrs.get("epsilon", 1e-5), x.dtype)))
    scaled = b.Mul(b.Div(centered, spread), scale)
    return b.Add(scaled, bias[0]) if bias and bias[0] is not None else scaled


def _transform(b: Builder, node: OnnxNode) -> Operand | None:
    """The axis of a DFT is an attribute before opset 20."""
    x, length, axis = node.inputs
    if x is None or axis is None or axis.array is None:
        return None
    return b.nodes("DFT", x, length, axis=int(axis.array), **node.attrs)[0]


def _hard_swish(b: Builder, node: OnnxNode) -> Operand | None:
    (x,) = node.inputs
    assert x is not None
    gate = b.Add(b.Div(x, b.const(6, x.dtype)), b.const(0.5, x.dtype))
    return b.Mul(x, b.Clip(gate, b.const(0, x.dtype), b.const(1, x.dtype)))


def _trilu(b: Builder, node: OnnxNode) -> Operand | None:
    """The lower or upper part of matrices of known size, by a mask."""
    data, *shift = node.inputs
    assert data is not None
    shape = data.shape
    offset = 0 if not shift or shift[0] is None else shift[0].array
    if not shape or len(shape) < 2 or None in shape[-2:] or offset is None:
        return None
    rows, columns = (int(size or 0) for size in shape[-2:])
    whole = np.ones((rows, columns), np.bool_)
    k = int(np.asarray(offset).reshape(-1)[0]) if np.asarray(offset).size else 0
    mask = np.triu(whole, k) if node.attrs.get("upper", 1) else np.tril(whole, k)
    return b.Where(b.const(mask, BOOL), data, b.const(0, data.dtype))


def _negative_out_of_range(b: Builder, node: OnnxNode) -> Operand | None:
    """The largest integer for negative ones, which lowerings make out of range with fewer nodes."""
    x, mask = node.inputs
    assert x is not None
    assert mask is not None
    if x.dtype not in (INT32, INT64) or mask.array is None or not (mask.array == index_mask(x.dtype)).all():
        return None
    largest = b.const(np.iinfo(x.dtype.numpy).max, x.dtype)
    return b.Where(b.Less(x, b.const(0, x.dtype)), largest, x)


_PLAIN: dict[str, Rewrite] = {"BitwiseAnd": _negative_out_of_range, "Reshape": _reshaped_to_known_sizes}
"""What is said with nodes that more readers know, in every opset."""
_REWRITES: dict[str, Rewrite] = {
    "DFT": _transform,
    "Gelu": _gelu,
    "HardSwish": _hard_swish,
    "LayerNormalization": _layer_normalization,
    "Pad": _pads_of_all_axes,
    "Reshape": _reshaped,
    "Shape": _part_of_shape,
    "Split": _split,
    "Trilu": _trilu,
}
