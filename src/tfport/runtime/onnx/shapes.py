"""Shapes of what nodes of ONNX answer, as far as their inputs tell: ranks nearly always, sizes often.

`known_of` follows the elements of small vectors of integers through the nodes that
make shapes, so that a reshape to `(batch, 49, 64)` has two known sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.runtime.operand import Dims, Operand

Inputs = Sequence[Operand | None]
Attrs = dict[str, Any]
_SHAPES: dict[str, Callable[[Inputs, Attrs, int], list[Dims | None]]] = {}


def shapes_of(op: str, inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    """The shape of each output; None where the rank is unknown."""
    rule = _SHAPES.get(op)
    return rule(inputs, attrs, outputs) if rule else [None] * outputs


def broadcast(*shapes: Dims | None) -> Dims | None:
    """The shape that these have together; None where one of them is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(map(_together, zip(*padded, strict=True))) if rank else ()


def _together(sizes: tuple[int | None, ...]) -> int | None:
    others = {size for size in sizes if size != 1}
    if not others:
        return 1
    known = others - {None}
    # an unknown size is 1 or the known one, unless two sizes differ, which a run will tell
    return known.pop() if len(known) == 1 else None


def _given(operand: Operand | None) -> Operand:
    assert operand is not None, "ONNX does not let this input be left out"
    return operand


def _both(inputs: Inputs) -> tuple[Operand, Operand]:
    return _given(inputs[0]), _given(inputs[1])


def _rule(ops: str) -> Callable[[Any], Any]:
    def declare(function: Any) -> Any:
        for op in ops.split():
            _SHAPES[op] = function
        return function

    return declare


@_rule(
    "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization BitwiseNot Cast Ceil Celu Clip Cos Cosh CumSum "
    "DequantizeLinear Elu Erf Exp Floor Gelu HardSigmoid HardSwish Hardmax Identity IsInf IsNaN LRN "
    "LayerNormalization LeakyRelu Log LogSoftmax Mish Neg Not QuantizeLinear Reciprocal Relu "
    "ReverseSequence Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus "
    "Softsign Sqrt Tan Tanh ThresholdedRelu Trilu"
)
def _same(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    first = inputs[0].shape if inputs[0] is not None else None
    return [first] * outputs


@_rule(
    "Add Sub Mul Div Mod Pow Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Where Max Min Sum Mean "
    "BitShift BitwiseAnd BitwiseOr BitwiseXor PRelu"
)
def _broadcast(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [broadcast(*(operand.shape for operand in inputs if operand is not None))]


@_rule(
    "ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL2 ReduceL1 ReduceLogSumExp ReduceSumSquare"
)
def _reduce(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = _given(inputs[0]), inputs[1] if len(inputs) > 1 else None
    keep = attrs.get("keepdims", 1)
    if x.shape is None:
        return [() if axes is None and not keep and not attrs.get("noop_with_empty_axes") else None]
    rank = len(x.shape)
    if axes is None:
        return [x.shape if attrs.get("noop_with_empty_axes") else (1,) * rank if keep else ()]
    if axes.known is None or None in axes.known:
        return [(None,) * rank if keep else None]
    gone = {axis % rank for axis in axes.known if axis is not None} if rank else set()
    if not gone and attrs.get("noop_with_empty_axes"):
        return [x.shape]
    if keep:
        return [tuple(1 if i in gone else n for i, n in enumerate(x.shape))]
    return [tuple(n for i, n in enumerate(x.shape) if i not in gone)]


@_rule("ArgMax ArgMin")
def _arg_reduce(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = _given(inputs[0])
    if x.shape is None:
        return [None]
    axis = attrs.get("axis", 0) % len(x.shape)
    if attrs.get("keepdims", 1):
        return [tuple(1 if i == axis else n for i, n in enumerate(x.shape))]
    return [tuple(n for i, n in enumerate(x.shape) if i != axis)]


@_rule("Transpose")
def _transpose(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = _given(inputs[0])
    perm = attrs.get("perm")
    if x.shape is None:
        return [(None,) * len(perm) if perm is not None else None]
    return [tuple(x.shape[i] for i in perm) if perm is not None else x.shape[::-1]]


@_rule("Reshape")
def _reshape(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, wanted = _both(inputs)
    if wanted.known is None:
        length = wanted.shape[0] if wanted.shape else None
        return [(None,) * length if length is not None else None]
    sizes = []
    for i, n in enumerate(wanted.known):
        if n == 0 and not attrs.get("allowzero"):
            sizes.append(x.shape[i] if x.shape is not None and i < len(x.shape) else None)
        else:
            sizes.append(None if n == -1 else n)
    # what is not known is all that the others leave, whether it was asked for by -1 or only a run tells
    if sizes.count(None) == 1 and x.shape is not None and None not in x.shape:
        rest = int(np.prod([n for n in sizes if n is not None]))
        total = int(np.prod([n for n in x.shape if n is not None]))
        if rest and total % rest == 0:
            sizes[sizes.index(None)] = total // rest
    return [tuple(sizes)]


@_rule("Concat")
def _concat(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    given = [operand for operand in inputs if operand is not None]
    shapes = [operand.shape for operand in given if operand.shape is not None]
    if not shapes:
        return [None]
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes) or not rank:
        return [None]
    axis = attrs["axis"] % rank
    sizes: list[int | None] = []
    for i in range(rank):
        column = [shape[i] for shape in shapes]
        if i == axis:
            whole = len(shapes) == len(given) and None not in column
            sizes.append(sum(n for n in column if n is not None) if whole else None)
        else:
            sizes.append(next((n for n in column if n is not None), None))
    return [tuple(sizes)]


@_rule("Squeeze")
def _squeeze(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = _given(inputs[0]), inputs[1] if len(inputs) > 1 else None
    if x.shape is None or axes is None or axes.known is None or None in axes.known:
        return [None]
    gone = {axis % len(x.shape) for axis in axes.known if axis is not None}
    return [tuple(n for i, n in enumerate(x.shape) if i not in gone)]


@_rule("Unsqueeze")
def _unsqueeze(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = _both(inputs)
    if x.shape is None or axes.known is None or None in axes.known:
        return [None]
    rank = len(x.shape) + len(axes.known)
    new = {axis % rank for axis in axes.known if axis is not None}
    rest = iter(x.shape)
    return [tuple(1 if i in new else next(rest) for i in range(rank))]


@_rule("Shape")
def _shape(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    rank = inputs[0].rank if inputs[0] is not None else None
    if rank is None:
        return [(None,)]
    return [(len(range(rank)[attrs.get("start", 0) : attrs.get("end")]),)]


@_rule("Size")
def _scalar(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [()] * outputs


@_rule("Gather")
def _gather(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, indices = _both(inputs)
    if x.shape is None or indices.shape is None:
        return [None]
    axis = attrs.get("axis", 0) % max(len(x.shape), 1)
    return [x.shape[:axis] + indices.shape + x.shape[axis + 1 :]]


@_rule("GatherND")
def _gather_nd(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, indices = _both(inputs)
    if x.shape is None or not indices.shape or indices.shape[-1] is None:
        return [None]
    depth = indices.shape[-1] + attrs.get("batch_dims", 0)
    return [indices.shape[:-1] + x.shape[depth:]]


@_rule("GatherElements")
def _gather_elements(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [inputs[1].shape if inputs[1] is not None else None]


@_rule("MatMul")
def _matmul(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, y = _both(inputs)
    if not x.shape or not y.shape or len(x.shape) < 2 or len(y.shape) < 2:
        return [None]
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    return [None if batch is None else (*batch, x.shape[-2], y.shape[-1])]


@_rule("Gemm")
def _gemm(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, y = _both(inputs)
    if not x.shape or not y.shape:
        return [(None, None)]
    return [(x.shape[attrs.get("transA", 0)], y.shape[1 - attrs.get("transB", 0)])]


@_rule("Slice")
def _slice(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, starts = _both(inputs)
    ends = _given(inputs[2])
    if x.shape is None:
        return [None]
    axes = inputs[3].known if len(inputs) > 3 and inputs[3] is not None else tuple(range(len(x.shape)))
    steps = inputs[4] if len(inputs) > 4 else None
    sizes = list(x.shape)
    if axes is None or None in axes:
        return [(None,) * len(sizes)]
    for i, axis in enumerate(axes):
        assert axis is not None
        sizes[axis] = _sliced(
            sizes[axis], _element(starts, i), _element(ends, i), 1 if steps is None else _element(steps, i)
        )
    return [tuple(sizes)]


def _element(operand: Operand, i: int) -> int | None:
    return operand.known[i] if operand.known is not None and i < len(operand.known) else None


def _sliced(size: int | None, start: int | None, end: int | None, step: int | None) -> int | None:
    if size is None or start is None or end is None or step is None or step == 0:
        return None
    return len(range(*slice(start, end if end > -(2**62) else None, step).indices(size)))


@_rule("Expand")
def _expand(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, wanted = _both(inputs)
    known = wanted.known
    if known is None and wanted.shape and wanted.shape[0] is not None:
        known = (None,) * wanted.shape[0]
    return [None if known is None else broadcast(x.shape, known)]


@_rule("Tile")
def _tile(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, repeats = _both(inputs)
    if x.shape is None:
        return [None]
    if repeats.known is None or len(repeats.known) != len(x.shape):
        return [(None,) * len(x.shape)]
    return [
        tuple(None if n is None or r is None else n * r for n, r in zip(x.shape, repeats.known, strict=True))
    ]


@_rule("Pad")
def _pad(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, pads = _both(inputs)
    if x.shape is None:
        return [None]
    rank = len(x.shape)
    if pads.known is None or len(pads.known) != 2 * rank:
        return [(None,) * rank]
    around = [(pads.known[i], pads.known[i + rank]) for i in range(rank)]
    return [
        tuple(
            None if n is None or p is None or q is None else n + p + q
            for n, (p, q) in zip(x.shape, around, strict=True)
        )
    ]


@_rule("ConstantOfShape")
def _filled(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    wanted = _given(inputs[0])
    if wanted.known is not None:
        return [wanted.known]
    return [(None,) * wanted.shape[0] if wanted.shape and wanted.shape[0] is not None else None]


@_rule("Range")
def _range(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(None,)]


@_rule("NonZero")
def _non_zero(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(inputs[0].rank if inputs[0] is not None else None, None)]


@_rule("Split")
def _split(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = _given(inputs[0])
    if x.shape is None:
        return [None] * outputs
    axis = attrs.get("axis", 0) % max(len(x.shape), 1)
    sizes = inputs[1].known if len(inputs) > 1 and inputs[1] is not None else None
    if sizes is None:
        whole = x.shape[axis]
        even = len(inputs) < 2 and whole is not None and whole % outputs == 0
        sizes = (whole // outputs if even and whole is not None else None,) * outputs
    return [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in sizes]


@_rule("TopK")
def _top_k(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, k = _both(inputs)
    if x.shape is None:
        return [None] * outputs
    axis = attrs.get("axis", -1) % len(x.shape)
    size = k.known[0] if k.known else None
    return [(*x.shape[:axis], size, *x.shape[axis + 1 :])] * outputs


@_rule("Conv")
def _conv(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, w = _both(inputs)
    if w.shape is None:
        return [x.shape and (None,) * len(x.shape)]
    batch = x.shape[0] if x.shape else None
    return [(batch, w.shape[0], *_windows(x, w.shape[2:], attrs))]


@_rule("MaxPool AveragePool LpPool")
def _pool(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = _given(inputs[0])
    lead = x.shape[:2] if x.shape else (None, None)
    return [(*lead, *_windows(x, tuple(attrs["kernel_shape"]), attrs))] * outputs


def _windows(x: Operand, kernel: Dims, attrs: Attrs) -> Dims:
    """How often a window fits along each spatial axis."""
    n = len(kernel)
    sizes = x.shape[2:] if x.shape else (None,) * n
    strides, dilations = attrs.get("strides", [1] * n), attrs.get("dilations", [1] * n)
    pads, auto, up = attrs.get("pads", [0] * 2 * n), attrs.get("auto_pad", "NOTSET"), attrs.get("ceil_mode")
    found: list[int | None] = []
    for i, (size, k) in enumerate(zip(sizes, kernel, strict=True)):
        if size is None or k is None or up:
            found.append(None)
        elif auto.startswith("SAME"):
            found.append(-(-size // strides[i]))
        else:
            room = size + pads[i] + pads[i + n] - dilations[i] * (k - 1) - 1
            found.append(max(room // strides[i] + 1, 0))
    return tuple(found)


@_rule("ConvTranspose")
def _conv_transpose(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, w = _both(inputs)
    batch = x.shape[0] if x.shape else None
    rank = w.rank or x.rank
    if rank is None:
        return [None]
    channels = w.shape[1] if w.shape else None
    group = attrs.get("group", 1)
    sizes = attrs.get("output_shape") or (None,) * (rank - 2)
    return [(batch, None if channels is None else channels * group, *sizes)]


@_rule("GlobalAveragePool GlobalMaxPool")
def _global_pool(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = _given(inputs[0])
    return [x.shape and (*x.shape[:2], *(1,) * (len(x.shape) - 2))]


@_rule("Resize")
def _resize(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, sizes = _given(inputs[0]), inputs[3] if len(inputs) > 3 else None
    if sizes is not None and sizes.known is not None and "axes" not in attrs:
        return [sizes.known]
    return [x.shape and (None,) * len(x.shape)]


@_rule("DepthToSpace SpaceToDepth")
def _depth_to_space(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(None,) * 4]


@_rule("OneHot")
def _one_hot(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    indices, depth = _both(inputs)
    if indices.shape is None:
        return [None]
    axis = attrs.get("axis", -1) % (len(indices.shape) + 1)
    size = depth.known[0] if depth.known else None
    return [(*indices.shape[:axis], size, *indices.shape[axis:])]


_ARITHMETIC: dict[str, Callable[[int, int], int | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": max,
    "Min": min,
    "Div": lambda a, b: int(a / b) if b and abs(a) < 2**52 else None,
    "Mod": lambda a, b: a % b if b else None,
}


_REDUCTIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "ReduceProd": math.prod,
    "ReduceSum": sum,
    "ReduceMax": max,
    "ReduceMin": min,
}


def known_of(op: str, inputs: Inputs, attrs: Attrs) -> Dims | None:
    """The elements of a node's answer, where it is a small vector or scalar of integers."""
    first = inputs[0] if inputs else None
    if first is None:
        return None
    if op == "Shape":
        return first.shape[attrs.get("start", 0) : attrs.get("end")] if first.shape is not None else None
    if op in ("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape") and first.dtype.is_integer:
        return first.known if first.rank is not None and first.rank < 2 else None
    if op == "Concat":
        parts = [operand.known for operand in inputs if operand is not None]
        ranks = {operand.rank for operand in inputs if operand is not None}
        if ranks == {1} and None not in parts and attrs["axis"] in (0, -1):
            return tuple(n for part in parts if part is not None for n in part)
    if op in _ARITHMETIC and not attrs.get("fmod") and len(inputs) == 2 and first.dtype.is_integer:
        return _arithmetic(op, first, _given(inputs[1]))
    if op == "Gather" and first.rank == 1 and first.known is not None:
        places = inputs[1].known if inputs[1] is not None else None
        if places is not None and all(
            i is not None and -len(first.known) <= i < len(first.known) for i in places
        ):
            return tuple(first.known[i] for i in places if i is not None)
    if op == "Slice" and first.rank == 1 and first.known is not None:
        return _slice_known(first.known, inputs)
    if op in _REDUCTIONS and first.rank == 1 and first.known and None not in first.known:
        return (_REDUCTIONS[op]([n for n in first.known if n is not None]),)
    return None


def _arithmetic(op: str, x: Operand, y: Operand) -> Dims | None:
    if x.known is None or y.known is None or (x.rank or 0) > 1 or (y.rank or 0) > 1:
        return None
    n = max(len(x.known), len(y.known))
    if not n or not {len(x.known), len(y.known)} <= {1, n}:
        return None
    pairs = zip(x.known * (n // len(x.known)), y.known * (n // len(y.known)), strict=True)
    return tuple(None if a is None or b is None else _ARITHMETIC[op](a, b) for a, b in pairs)


def _slice_known(known: Dims, inputs: Inputs) -> Dims | None:
    bounds = [operand.known for operand in inputs[1:] if operand is not None]
    if any(bound is None or len(bound) != 1 or bound[0] is None for bound in bounds):
        return None
    start, end, *rest = (bound[0] or 0 for bound in bounds if bound is not None)
    step = rest[1] if len(rest) > 1 else 1
    return known[start : end if end > -(2**62) else None : step]
