"""Sizes that leave a convolution or pooling without a window.

An image smaller than the windows of a model makes an empty tensor inside it. Releases differ there: one
returns NaN, one reads memory that it did not write, one crashes. So such sizes are not tried. Shapes
come from planning the model for these sizes in tfport's runtime.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence

from tfport.errors import Error, RunFailed
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.windows import DataLayout, explicit_pads, layout_windows
from tfport.runtime.program import Step
from tfport.runtime.state import State
from tfport.runtime.trace import Env, Tracer

POOLINGS = frozenset(("MaxPool", "MaxPool3D", "MaxPoolWithArgmax", "AvgPool", "AvgPool3D"))
CONVOLUTIONS = frozenset(
    ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "_FusedConv2D", "_FusedDepthwiseConv2dNative")
)
MANY_ROWS = 1 << 14


class WindowSizes:
    """Finds the sizes of a signature's inputs for which a window does not fit."""

    def __init__(self, model: Model, signature: Signature) -> None:
        self.model = model
        self.signature = signature
        graphs = (model.graph, *model.graph.library.functions.values())
        self._has_windows = any(node.op in POOLINGS | CONVOLUTIONS for graph in graphs for node in graph)
        self._known: dict[tuple[int, ...], str] = {}
        self._rows_help: bool | None = None
        """Whether more rows make room for a window: the first axis is not a batch."""

    def misfit(self, shapes: Mapping[str, Sequence[int]]) -> str:
        """A node without a window if the inputs have these shapes, by tensor; else an empty string."""
        if not self._has_windows or any(0 in shape for shape in shapes.values()):
            return ""
        one_row = _with_rows(shapes, 1)
        if not (node := self._once(one_row)):  # more rows fit too
            return ""
        if self._rows_help is None:  # usually the first axis is the batch
            self._rows_help = not self._once(_with_rows(shapes, MANY_ROWS))
        return self._once(shapes) if self._rows_help else node

    def _once(self, shapes: Mapping[str, Sequence[int]]) -> str:
        """A node without a window, or an empty string; smaller sizes fit no better, larger ones no worse."""
        sizes = tuple(size for shape in shapes.values() for size in shape)
        for known, node in self._known.items():
            smaller, larger = (sizes, known) if node else (known, sizes)
            if len(known) == len(sizes) and all(map(operator.le, smaller, larger)):
                return node
        self._known[sizes] = self._planned(shapes)
        return self._known[sizes]

    def _planned(self, shapes: Mapping[str, Sequence[int]]) -> str:
        tracer = Tracer(
            State(self.model), make_engine("onnxruntime", 1), bake=False, implementations=PROCESS_WIDE
        )
        env: Env = {}
        for tensor, shape in shapes.items():
            value = self.model.graph.value(tensor)
            env[value] = Operand(value.dtype.base, shape, name=value.node.name)
        ends = [value.node for value in self.model.ends_of(self.signature)]
        with contextlib.suppress(Error):  # the steps before an error are known
            tracer.region(dict.fromkeys(ends), env)
        return _empty_step(tracer.steps)


def _with_rows(shapes: Mapping[str, Sequence[int]], rows: int) -> dict[str, Sequence[int]]:
    return {tensor: [rows, *shape[1:]] if shape else shape for tensor, shape in shapes.items()}


def _empty_step(steps: Iterable[Step]) -> str:
    for step in steps:
        if step.op in POOLINGS | CONVOLUTIONS and not _fits(step):
            return step.name
        if inner := next(filter(None, (_empty_step(program.steps) for program in step.programs)), ""):
            return inner
    return ""


def _fits(step: Step) -> bool:
    """Whether at least one window fits into each axis; also if the sizes are not known."""
    attrs, image = step.attrs, step.inputs[0].shape
    layout = DataLayout(attrs.get("data_format", "NHWC"))
    if attrs["padding"] == "SAME" or image is None or len(image) != layout.rank:
        return True
    filter = step.inputs[1].shape if step.op in CONVOLUTIONS else None
    kernel = [attrs["ksize"][axis] for axis in layout.spatial_axes] if step.op in POOLINGS else filter or ()
    known = [size for size in (image[axis] for axis in layout.spatial_axes) if size is not None]
    window = [size for size in kernel[: len(layout.spatial_axes)] if size is not None]
    if len(known) < len(layout.spatial_axes) or len(window) < len(known):
        return True
    dilations = attrs.get("dilations") or [1] * layout.rank
    pads = explicit_pads(layout, attrs.get("explicit_paddings") or ())
    try:
        fitted = layout_windows(layout, known, window, attrs["strides"], dilations, attrs["padding"], pads)
    except RunFailed:
        return False
    return 0 not in fitted.count
