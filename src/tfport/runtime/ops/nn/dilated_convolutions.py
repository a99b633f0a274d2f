"""Recognize dilated convolutions that are written with SpaceToBatch and BatchToSpace.

TensorFlow writes a convolution with dilation as SpaceToBatchND, a VALID convolution, and BatchToSpaceND
that crops what was padded to a multiple of the block. One convolution with dilations is the same:

- element `i` of a phase is element `block · i + phase` of the padded axis, so that neighbors in a phase
  are `block` apart on the axis;
- the crops remove the first and last elements of the result, which is padding less, not more.

This holds where the padded size is a multiple of the block (TensorFlow refuses others) and the padding
without the crops is constant. Both are proven with expressions of the unknown sizes (`symbolic_values`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.windows import DataLayout
from tfport.runtime.ops.shared.lowered_sizes import whole
from tfport.runtime.size_expression import Number, least_of
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import TracedStep, Tracer
from tfport.startup.dataclass import dataclass

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
_INVERSE = {"BatchToSpace": "SpaceToBatch", "BatchToSpaceND": "SpaceToBatchND"}


@dataclass(frozen=True, slots=True)
class DilatedConvolution:
    """The nodes of a dilated convolution; a 1-D one adds an axis before it and removes it after it."""

    space_to_batch: TracedStep
    expand: TracedStep | None
    convolution: TracedStep
    squeeze: TracedStep | None

    @property
    def new_axis(self) -> int | None:
        """The axis of the convolution's input that the input of SpaceToBatch does not have."""
        if self.expand is None:
            return None
        rank = self.expand.step.outputs[0].rank
        axis = whole(self.expand.step.inputs[1])
        return axis[0] % rank if rank and axis else None


@structure("BatchToSpace BatchToSpaceND")
def batch_to_space(
    tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]
) -> Sequence[Operand]:
    """One convolution with dilations if it is the end of one; itself otherwise."""
    written = _written(tracer, node.op, inputs[0])
    if written is not None:
        block = block_of(inputs, attrs)
        changed = _attributes(tracer, written, block, inputs[-1]) if block else None
        if changed is not None and (output := _convolved(tracer, written, changed)) is not None:
            return [output]
    return tracer.plain(node, inputs, attrs)


def block_of(inputs: Sequence[Operand], attrs: dict[str, Any]) -> tuple[int, ...] | None:
    """The size of a block along each axis after the first; None if it is not known."""
    if "block_size" in attrs:
        return (int(attrs["block_size"]),) * 2
    return whole(inputs[1])


def _written(tracer: Tracer, op: str, end: Operand) -> DilatedConvolution | None:
    """The nodes between SpaceToBatch and BatchToSpace; None if they are not those of a convolution."""
    last = tracer.traced.get(end)
    squeeze = last if last is not None and last.step.op == "Squeeze" else None
    convolution = tracer.traced.get(squeeze.step.inputs[0]) if squeeze else last
    if convolution is None or not _is_plain(convolution):
        return None
    first = tracer.traced.get(convolution.step.inputs[0])
    expand = first if first is not None and first.step.op == "ExpandDims" else None
    space_to_batch = tracer.traced.get(expand.step.inputs[0]) if expand else first
    if space_to_batch is None or space_to_batch.step.op != _INVERSE[op]:
        return None
    written = DilatedConvolution(space_to_batch, expand, convolution, squeeze)
    return written if _keeps_axes(written) else None


def _is_plain(convolution: TracedStep) -> bool:
    """Whether it is a convolution without padding, strides and dilations."""
    step = convolution.step
    return (
        step.op in _CONVOLUTIONS
        and step.attrs["padding"] == "VALID"
        and {*step.attrs["strides"], *step.attrs["dilations"]} == {1}
    )


def _keeps_axes(written: DilatedConvolution) -> bool:
    """Whether the axis that is added for a convolution is the one removed after it, and has one element."""
    axis = written.new_axis
    if written.squeeze is None or written.expand is None or axis is None:
        return written.squeeze is None and written.expand is None
    step = written.convolution.step
    removed = [int(a) % 4 for a in written.squeeze.step.attrs["squeeze_dims"]]
    layout = DataLayout(step.attrs["data_format"])
    if removed != [axis] or axis not in layout.spatial_axes:
        return False
    shape = step.inputs[1].shape
    return shape is not None and shape[layout.spatial_axes.index(axis)] == 1


def _attributes(
    tracer: Tracer, written: DilatedConvolution, block: tuple[int, ...], crops: Operand
) -> dict[str, Attr] | None:
    """The attributes of the one convolution; None where it is not proven to compute the same."""
    step = written.space_to_batch.step
    x, values = step.inputs[0], SymbolicValues(tracer)
    paddings, cropped = values.of(step.inputs[-1]), values.of(crops)
    if (
        x.rank is None
        or paddings is None
        or cropped is None
        or block_of(step.inputs, dict(step.attrs)) != block
    ):
        return None
    if min(block) < 1 or x.rank <= len(block) or not paddings.shape == cropped.shape == (len(block), 2):
        return None
    attrs = written.convolution.step.attrs
    channel_axis = DataLayout(attrs["data_format"]).channel_axis
    dilations, pads = [1, 1, 1, 1], [0] * 8
    for i, size in enumerate(block):
        pair = _padding(size_of_axis(tracer, x, i + 1), size, paddings[i], cropped[i])
        axis = i + 1 + (written.new_axis is not None and i + 1 >= written.new_axis)
        if pair is None or (axis == channel_axis and (size, *pair) != (1, 0, 0)):
            return None
        dilations[axis] = size
        pads[2 * axis : 2 * axis + 2] = pair
    padding = "EXPLICIT" if any(pads) else "VALID"
    return {
        **attrs,
        "dilations": dilations,
        "padding": padding,
        "explicit_paddings": pads if any(pads) else [],
    }


def _padding(size: Number, block: int, padding: Any, crop: Any) -> tuple[int, int] | None:
    """The constant padding of an axis without its crops; None where the nodes may refuse a size."""
    edges = [least_of(number) for number in (*padding, *crop)]
    if any(least is None or least < 0 for least in edges) or (size + padding[0] + padding[1]) % block != 0:
        return None
    before, after = padding[0] - crop[0], padding[1] - crop[1]
    if isinstance(before, int) and isinstance(after, int) and min(before, after) >= 0:
        return before, after
    return None


def _convolved(tracer: Tracer, written: DilatedConvolution, attrs: dict[str, Attr]) -> Operand | None:
    """Add the one convolution; None if the engine cannot run it."""
    x = written.space_to_batch.step.inputs[0]
    if written.expand is not None:
        (x,) = _again(tracer, written.expand, x)
    node, step = written.convolution
    (y,) = tracer.plain(node, [x, *step.inputs[1:]], attrs)
    if y not in tracer.traced or tracer.traced[y].step.lowered is None:
        return None
    if written.squeeze is not None:
        (y,) = _again(tracer, written.squeeze, y)
    return y


def _again(tracer: Tracer, traced: TracedStep, x: Operand) -> Sequence[Operand]:
    """The same node for another input."""
    return tracer.plain(traced.node, [x, *traced.step.inputs[1:]], dict(traced.step.attrs))
