"""Sizes of inputs that leave a convolution or a pooling of a model without a window.

The shapes of the graph usually tell; where they do not, a plan of the model for these sizes does.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfport.errors import Error, RunFailed
from tfport.graph.graph import Node
from tfport.graph.infer_shapes import FedShapes
from tfport.graph.model import Model, Signature
from tfport.graph.op_facts.kinds import ALL_SWITCHES, BRANCHING, WHILES
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
WINDOWS = POOLINGS | CONVOLUTIONS
BRANCHES = frozenset((*BRANCHING, *WHILES, *ALL_SWITCHES))
MANY_ROWS = 1 << 14


class WindowSizes:
    """Finds the sizes of a signature's inputs for which a window does not fit."""

    def __init__(self, model: Model, signature: Signature) -> None:
        self.model = model
        self.signature = signature
        graphs = (model.graph, *model.graph.library.functions.values())
        self._has_windows = any(graph.has_any(WINDOWS) for graph in graphs)
        self._known: dict[tuple[int, ...], str] = {}
        self._shapes: FedShapes | None = None
        self._is_inferred = True
        """Whether the shapes of the graph have told so far."""
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
        """A node without a window, by the shapes of the graph; by a plan if they do not tell."""
        if self._is_inferred:
            graph, windows = self.model.graph, _Windows()
            fed = {graph.value(tensor): tuple(shape) for tensor, shape in shapes.items()}
            if self._shapes is None:
                ends = {value.node for value in self.model.ends_of(self.signature)}
                self._shapes = FedShapes(graph, ends, fed.keys())
            self._shapes.infer(fed, windows.see)
            if windows.is_certain:
                return windows.misfit
            self._is_inferred = False
        return self._traced(shapes)

    def _traced(self, shapes: Mapping[str, Sequence[int]]) -> str:
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


class _Windows:
    """Which windows fit, by the shapes that the nodes meet."""

    def __init__(self) -> None:
        self.misfit = ""
        self.has_unknown = False
        self.has_branches = False
        """Whether some nodes may not run."""

    @property
    def is_certain(self) -> bool:
        return not (self.has_branches if self.misfit else self.has_unknown)

    def see(self, node: Node, inputs: Sequence[Sequence[int | None] | None]) -> None:
        if node.op in BRANCHES:
            self.has_branches = True
        if node.op in WINDOWS and not self.misfit:
            fits = _fits(node.op, node.attrs, inputs[0], inputs[1] if node.op in CONVOLUTIONS else None)
            self.has_unknown |= fits is None
            self.misfit = node.name if fits is False else ""


def _with_rows(shapes: Mapping[str, Sequence[int]], rows: int) -> dict[str, Sequence[int]]:
    return {tensor: [rows, *shape[1:]] if shape else shape for tensor, shape in shapes.items()}


def _empty_step(steps: Iterable[Step]) -> str:
    for step in steps:
        if step.op in WINDOWS:
            filter = step.inputs[1].shape if step.op in CONVOLUTIONS else None
            if _fits(step.op, step.attrs, step.inputs[0].shape, filter) is False:
                return step.name
        if inner := next(
            (inner_node for program in step.programs if (inner_node := _empty_step(program.steps))), ""
        ):
            return inner
    return ""


def _fits(
    op: str,
    attrs: Mapping[str, Any],
    image: Sequence[int | None] | None,
    filter: Sequence[int | None] | None,
) -> bool | None:
    """Whether at least one window fits into each axis; None if the sizes are not known."""
    layout = DataLayout(attrs.get("data_format", "NHWC"))
    if attrs["padding"] == "SAME":
        return True
    if image is None or len(image) != layout.rank:
        return None
    kernel = [attrs["ksize"][axis] for axis in layout.spatial_axes] if op in POOLINGS else filter or ()
    known = [size for size in (image[axis] for axis in layout.spatial_axes) if size is not None]
    window = [size for size in kernel[: len(layout.spatial_axes)] if size is not None]
    if len(known) < len(layout.spatial_axes) or len(window) < len(known):
        return None
    dilations = attrs.get("dilations") or [1] * layout.rank
    pads = explicit_pads(layout, attrs.get("explicit_paddings") or ())
    try:
        fitted = layout_windows(layout, known, window, attrs["strides"], dilations, attrs["padding"], pads)
    except RunFailed:
        return False
    return 0 not in fitted.count
