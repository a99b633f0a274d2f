"""What CPU kernels compute otherwise than those of later releases, without an error.

Each line was recorded from real binaries for x86-64: tools/truth/rewrites/kernel_answers.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfport.atlas.target import Target
from tfport.check.kernel_limits import BFLOAT16, Attrs, KernelLimit, is_dilated
from tfport.check.release_quirks import since
from tfport.graph.constants import constant
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value
from tfport.graph.tensors import Tensor
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

if TYPE_CHECKING:
    from numpy.typing import NDArray


SOFT_INPUTS = 6
LARGE_ANGLE = 2.0**17
"""Below it the sines of all releases agree to 2e-6."""


def _rounds_signed(usage: Usage, attrs: Attrs) -> bool:
    return bool(attrs.get("signed_input", True)) and not attrs.get("narrow_range", False)


def _number(value: Value) -> float | None:
    """A constant scalar."""
    tensor = constant(value)
    return float(tensor.numpy()) if tensor is not None and tensor.shape.size == 1 else None


def _is_soft(usage: Usage, attrs: Attrs) -> bool:
    """Whether scores are lowered instead of boxes dropped, and a threshold could drop boxes."""
    for node in usage.nodes:
        if len(node.inputs) == SOFT_INPUTS:
            *_, overlap, _, sigma = map(_number, node.inputs)
            if sigma and (overlap is None or overlap < 1):
                return True
    return False


def restores_infinity(node: Node) -> bool:
    """Whether the graph compares results with the lowest number, to put minus infinity back."""
    return any(use.op == "LessEqual" for use in node.output(0).uses)


def _without_infinity(usage: Usage, attrs: Attrs) -> bool:
    return not all(map(restores_infinity, usage.nodes))


def writes_splits(node: Node) -> bool:
    """Whether the graph replaces the splits of n-grams where there are no words."""
    return any(use.op == "Select" for use in node.output(1).uses)


def _without_splits(usage: Usage, attrs: Attrs) -> bool:
    return not all(map(writes_splits, usage.nodes))


def _fills_by_position(usage: Usage, attrs: Attrs) -> bool:
    return bool(attrs.get("fill_mode", "CONSTANT") != "CONSTANT")


def _large_angles(usage: Usage, attrs: Attrs) -> bool:
    """Whether angles in float32 may be large; tensors of a few elements are computed otherwise, and right."""
    if attrs.get("T") != FLOAT32:
        return False
    return any(largest(node.inputs[0]) >= LARGE_ANGLE for node in usage.nodes if node.inputs)


def _shortens_float32(usage: Usage, attrs: Attrs) -> bool:
    """Whether numbers are rounded to bfloat16 that may have more bits."""
    if attrs.get("DstT") != BFLOAT16 or attrs.get("SrcT") != FLOAT32 or attrs.get("Truncate"):
        return False
    return not all(_is_rounded(node.inputs[0]) for node in usage.nodes if node.inputs)


def _shortens_others(usage: Usage, attrs: Attrs) -> bool:
    if attrs.get("DstT") != BFLOAT16 or attrs.get("Truncate"):
        return False
    return attrs.get("SrcT") not in (BFLOAT16, FLOAT32)


def _listed_bfloat16(usage: Usage, attrs: Attrs) -> bool:
    """Whether a file has constants of bfloat16 in a list, which is another one in old releases."""
    if attrs.get("dtype") != BFLOAT16:
        return False
    values = (node.attrs.get("value") for node in usage.nodes)
    return any(isinstance(value, Tensor) and value.is_listed for value in values)


def _is_rounded(value: Value) -> bool:
    """Whether the graph clears the bits that bfloat16 does not have: Select(…, …, Bitcast(BitwiseAnd(…)))."""
    for op in ("Select", "Bitcast", "BitwiseAnd"):
        if value.node.op != op or not value.node.inputs:
            return False
        value = value.node.inputs[-1]
    return True


WRONG_ANGLES = "the kernel is wrong by 0.005 for angles of 2^17 (131072), and by more for larger ones"
CUT_OFF = "the kernel cuts bits off instead of rounding to the nearest number"
OTHER_ANSWERS = (
    KernelLimit("DepthwiseConv2dNative", is_dilated, "", until="2.10", about="dilations",
                cause="the kernel ignores dilations"),
    KernelLimit("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3", _rounds_signed, "", until="1.9",
                about="signed_input", cause="the kernel uses one step less of a signed range"),
    KernelLimit("NonMaxSuppressionV5", _is_soft, "", first="1.15", until="2.5", about="soft_nms_sigma",
                cause="the kernel drops boxes that overlap a selected box by iou_threshold or more; later "
                "ones only lower their scores"),
    KernelLimit("CumulativeLogsumexp", _without_infinity, "", first="1.15", until="2.3",
                about="minus infinity",
                cause="the kernel gives the lowest finite number (-3.4e38) instead of minus infinity, which "
                "exclusive sums begin with"),
    KernelLimit("ImageProjectiveTransformV2", _fills_by_position, "", first="2.2", until="2.4",
                about="fill_mode",
                cause="the kernel fills with zeros between the last pixel and the edge, and does not know "
                "NEAREST"),
    KernelLimit("StringNGrams", _without_splits, "", first="1.15", until="2.2", about="no words",
                cause="the kernel does not write the splits of a batch without words: they are arbitrary"),
    KernelLimit("Cast", _shortens_float32, "", until="1.11", about="bfloat16", cause=CUT_OFF),
    # not supported before 1.8
    KernelLimit("Cast", _shortens_others, "", first="1.8", until="1.11", about="bfloat16", cause=CUT_OFF),
    KernelLimit("Const", _listed_bfloat16, "", until="1.5", about="bfloat16",
                cause="the release does not read the list that is written, but another one, and finds zeros"),
    KernelLimit("Sin", _large_angles, "", until="1.14", about="large angles", cause=WRONG_ANGLES),
    # right in 1.5 to 1.12
    KernelLimit("Cos", _large_angles, "", until="1.5", about="large angles", cause=WRONG_ANGLES),
    KernelLimit("Cos", _large_angles, "", first="1.13", until="1.14", about="large angles",
                cause=WRONG_ANGLES),
)  # fmt: skip

BY_OP = {
    op: [r for r in OTHER_ANSWERS if op in r.ops.split()] for row in OTHER_ANSWERS for op in row.ops.split()
}


def ops_with_other_answers(target: Target) -> frozenset[str]:
    """Ops whose kernels in a target may answer otherwise."""
    return frozenset(op for row in OTHER_ANSWERS if _affects(row, target) for op in row.ops.split())


def _affects(row: KernelLimit, target: Target) -> bool:
    return target.device == "cpu" and since(target, row.first) and not since(target, row.until)


def may_answer_otherwise(op: str) -> bool:
    """Whether kernels of an op answer otherwise in some release."""
    return op in BY_OP


def other_answers(usage: Usage, target: Target) -> Iterator[Unresolved]:
    """What the CPU kernels of a target compute otherwise than later releases, in the nodes of a usage."""
    for row in BY_OP.get(usage.op, ()):
        if _affects(row, target) and row.applies(usage, usage.attrs):
            yield Unresolved(Question.KERNEL_ANSWER, expected=row)


# How large the numbers of a value can be, as far as the graph shows it.

AT_MOST_1 = frozenset(
    [
        "Cos",
        "Erf",
        "RandomUniform",
        "Sigmoid",
        "Sign",
        "Sin",
        "Softmax",
        "Softsign",
        "StatelessRandomUniform",
        "StatelessRandomUniformV2",
        "Tanh",
    ]
)
AS_ITS_INPUT = frozenset(
    ["Abs", "BroadcastTo", "ExpandDims", "Identity", "Neg", "Reshape", "Squeeze", "Tile", "Transpose"]
)
DEEPEST = 8


def largest(value: Value, deep: int = 0) -> float:
    """A bound of the absolute values of a real tensor; infinity if none is known."""
    if (known := constant(value)) is not None:
        import numpy as np  # here and below, as most checks do without it

        numbers = _absolute(known)
        return float(numbers.max(initial=0)) if np.all(np.isfinite(numbers)) else math.inf
    node = value.node
    if node.op in AT_MOST_1:
        return 1.0
    if deep == DEEPEST or not node.inputs:
        return math.inf
    if node.op in AS_ITS_INPUT:
        return largest(node.inputs[0], deep + 1)
    if node.op == "Mul":
        return math.prod(largest(part, deep + 1) for part in node.inputs)
    if node.op in ("Add", "AddV2", "Sub"):
        return sum(largest(part, deep + 1) for part in node.inputs)
    if node.op == "Range":  # from the start towards the limit
        return max(largest(part, deep + 1) for part in node.inputs[:2])
    if node.op in ("RealDiv", "Div"):
        by = _least(node.inputs[1])
        return largest(node.inputs[0], deep + 1) / by if by else math.inf
    if node.op == "Cast":
        return _of_short_integers(node.inputs[0], deep)
    return math.inf


def _least(value: Value) -> float:
    """A bound below the absolute values but zero (a quotient by zero is not finite); 0 if unknown."""
    if (known := constant(value)) is not None:
        numbers = _absolute(known)
        return float(numbers[numbers > 0].min(initial=math.inf))
    is_integer = value.node.op == "Cast" and value.node.inputs[0].dtype.base.is_integer
    return 1.0 if is_integer else 0.0


def _absolute(known: Tensor) -> NDArray[Any]:
    import numpy as np

    return np.abs(known.numpy().astype(np.float64))


def _of_short_integers(value: Value, deep: int) -> float:
    dtype = value.dtype.base
    if dtype.name == "bool":
        return 1.0
    if dtype.is_integer and dtype.numpy.itemsize <= 2:
        import numpy as np

        return float(np.iinfo(dtype.numpy).max) + 1
    return largest(value, deep + 1)
