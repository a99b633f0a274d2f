"""What CPU kernels compute otherwise than those of later releases, without an error.

Each line was recorded from real binaries for x86-64: tools/truth/rewrites/kernel_answers.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.kernel_limits import BFLOAT16, Attrs, KernelLimit, is_dilated
from tfport.check.release_quirks import since
from tfport.check.value_bounds import largest
from tfport.graph.constants import constant
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value
from tfport.graph.tensors import Tensor
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

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
    KernelLimit("Cast", _shortens_float32, "", until="1.11", about="bfloat16", cause=CUT_OFF),
    # not supported before 1.8
    KernelLimit("Cast", _shortens_others, "", first="1.8", until="1.11", about="bfloat16", cause=CUT_OFF),
    KernelLimit("Const", _listed_bfloat16, "", until="1.5", about="bfloat16",
                cause="the release reads another list than the one that is written, and finds zeros"),
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
