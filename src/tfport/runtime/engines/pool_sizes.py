"""Notice a pooling over an image that is smaller than the window.

TensorFlow's result is empty there. ONNX Runtime rounds the negative size towards zero, so that its result
has one row more. The size of an image inside of an island is known only at run: `with_pool_sizes` adds it
to the outputs of a model, and `check_pool_sizes` raises EngineFailed, so that the host computes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.program import ONNX_TYPES
from tfport.startup.dataclass import dataclass

POOLS = ("MaxPool", "AveragePool")


@dataclass(frozen=True, slots=True)
class PoolWindow:
    """The output with the sizes of an image, and the size that it must have at least along each axis."""

    output: str
    least: tuple[int, ...]


def with_pool_sizes(model: bytes) -> tuple[bytes, list[PoolWindow]]:
    """The model with the sizes of the pooled images as further outputs."""
    whole = pb.ModelProto.FromString(model)
    graph, windows = whole.graph, []
    for node in [node for node in graph.node if node.op_type in POOLS]:
        if least := _least_sizes(node):
            name = f"{node.output[0]}@sizes"
            graph.node.add(op_type="Shape", input=[node.input[0]], output=[name], name=f"Shape:{name}")
            graph.output.add(name=name).type.tensor_type.elem_type = ONNX_TYPES["int64"]
            windows.append(PoolWindow(name, least))
    return (whole.SerializeToString() if windows else model), windows


def _least_sizes(node: pb.NodeProto) -> tuple[int, ...]:
    """Without its padding; empty if the padding follows from the size, so that a window always fits."""
    attrs = {attribute.name: attribute for attribute in node.attribute}
    if "auto_pad" in attrs and attrs["auto_pad"].s not in (b"NOTSET", b"VALID"):
        return ()
    kernel = list(attrs["kernel_shape"].ints)
    pads = list(attrs["pads"].ints) if "pads" in attrs else [0] * (2 * len(kernel))
    steps = list(attrs["dilations"].ints) if "dilations" in attrs else [1] * len(kernel)
    return tuple(
        step * (size - 1) + 1 - before - after
        for size, step, before, after in zip(
            kernel, steps, pads[: len(kernel)], pads[len(kernel) :], strict=True
        )
    )


def check_pool_sizes(windows: Sequence[PoolWindow], sizes: Sequence[Any]) -> None:
    """Raise EngineFailed if a window does not fit into the image that was pooled."""
    for window, shape in zip(windows, sizes, strict=True):
        if any(size < least for size, least in zip(shape.tolist()[2:], window.least, strict=True)):
            raise EngineFailed(f"a window of pooling does not fit into an image of shape {shape.tolist()}")
