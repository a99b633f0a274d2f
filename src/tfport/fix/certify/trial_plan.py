"""Which trials are run, in which order: the user's inputs, or warm-up requests and generated inputs.

Generated inputs have sizes into which every window of the model fits. An image smaller than the windows of a
model makes an empty tensor inside it. Releases differ there: one returns NaN, one reads memory that it did
not write, one crashes. Shapes come from planning the model for these sizes in tfport's runtime.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, RunFailed, UnreadableFile
from tfport.fix.certify.inputs.arrays import ORDINARY, ValueProfile
from tfport.fix.certify.runners import ModelSide, TrialOutcome
from tfport.fix.certify.trials import ATTEMPTS, Sizing, Trial, TrialBuilder, user_trials, warmup_trials
from tfport.fix.certify.verification import Verification
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.saved_model.warmup import WarmupRequest, read_warmup
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.windows import DataLayout, explicit_pads, layout_windows
from tfport.runtime.program import Step
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.state import State
from tfport.runtime.trace import Env, Tracer
from tfport.startup.dataclass import replace

SECONDS = 60.0
"""The time of the original for the generated trials of a signature; further ones are skipped and reported."""
ENOUGH = 3
"""If the original accepts this many sizes, unusual ones are not tried."""
Tried = tuple[Trial, TrialOutcome]
"""A trial, and the outcome of the original."""


class TrialPlan:
    """The trials of one verification; what is skipped is added to its `left_out`.

    `ask` runs the original. Generated inputs that it refuses are replaced by others if possible.
    """

    def __init__(
        self,
        side: ModelSide,
        ask: Callable[[Trial], TrialOutcome],
        user_inputs: Sequence[Mapping[str, Any]],
        verification: Verification,
        words: Sequence[bytes] = (),
    ) -> None:
        self.side = side
        self.ask = ask
        self.user_inputs = user_inputs
        self.left_out = verification.left_out
        self.same_as = verification.same_as
        self.words = words
        """Words that the model looks up, for generated strings."""

    def trials(self) -> Iterator[Tried]:
        """The trials; a signature that the user's inputs fit is tried on them only."""
        requests = self._warmup()
        for signature in self.side.signatures.values():
            if user := list(user_trials(signature, self.user_inputs)):
                yield from ((trial, self.ask(trial)) for trial in user)
                continue
            if self.user_inputs:
                self.left_out.append(
                    f"the user's inputs for {signature.name}, which takes {_names(signature)}"
                )
            yield from ((trial, self.ask(trial)) for trial in warmup_trials(signature, requests, DEFAULT))
            try:
                yield from self._generated(TrialBuilder(self.side.model, signature, self.words))
            except Error as error:  # a dtype or size for which no inputs can be generated
                self.left_out.append(f"generated inputs of {signature.name}: {error}")

    def _warmup(self) -> list[WarmupRequest]:
        """The warm-up requests of the model; an unreadable file is a caveat, not an error."""
        if self.side.model.format is not SAVED_MODEL:
            return []
        try:
            requests = read_warmup(self.side.model.files)
            return [replace(r, signature=self.same_as.get(r.signature, r.signature)) for r in requests]
        except UnreadableFile as error:
            self.left_out.append(f"the warm-up requests: {error}")
            return []

    def _generated(self, builder: TrialBuilder) -> Iterator[Tried]:
        end = time.monotonic() + SECONDS
        attempts = Attempts(builder, self.ask)
        taken: list[Sizing] = []
        sizes = FittingSizes(builder)
        for sizing in itertools.chain(sizes.usual, sizes.unusual, sizes.larger()):
            if len(taken) >= ENOUGH and sizing not in sizes.usual:
                break
            if time.monotonic() > end:
                self.left_out.append(f"{builder.signature.name}: more sizes (out of time)")
                break
            if not sizes.fit(sizing):
                continue
            yield (tried := attempts.first_accepted(sizing, ORDINARY, again=builder.parses_features))
            if not tried[1].ran or _says_something(tried[1].outputs):
                taken.append(sizing)
        if sizes.too_small:
            self.left_out.append(f"{builder.signature.name}: {sizes.words()}")
        taken = taken or [sizing for sizing in sizes.usual if sizing not in sizes.too_small]
        for profile in builder.profiles() if builder.signature.inputs and taken else ():
            if time.monotonic() > end:
                self.left_out.append(f"{builder.signature.name}: `{profile.name}` (out of time)")
                continue
            yield attempts.first_accepted(taken[min(1, len(taken) - 1)], profile)


class Attempts:
    """Makes trials that the original accepts, if it can."""

    def __init__(self, builder: TrialBuilder, ask: Callable[[Trial], TrialOutcome]) -> None:
        self.builder = builder
        self.ask = ask
        self.order = list(range(len(ATTEMPTS)))
        """The attempts, the last accepted one first."""

    def first_accepted(self, sizing: Sizing, profile: ValueProfile, *, again: bool = True) -> Tried:
        """The first attempt that the original does not refuse; if it refuses all, the first of them."""
        first: Tried | None = None
        for attempt in self.order if again else self.order[:1]:
            trial = self.builder.trial(sizing, profile, attempt)
            outcome = self.ask(trial)
            first = first or (trial, outcome)
            if outcome.outputs is not None or not outcome.ran:
                self.order.sort(key=lambda number: number != attempt)
                return trial, outcome
        assert first is not None
        return first


def _names(signature: Signature) -> str:
    return ", ".join(signature.inputs) or "no inputs"


def _says_something(outputs: Mapping[str, Any] | None) -> bool:
    """Whether an output is not empty."""
    parts = [part for v in (outputs or {}).values() for part in (v if isinstance(v, tuple) else (v,))]
    return any(np.size(part) for part in parts)


# Sizes that fit. Some models need far more than the usual ones, such as a convolution over a thousand
# positions or a slice that cuts off the ends of a sequence: the size grows until every window fits.

MOST_ELEMENTS = 1 << 21
"""The most elements of all inputs together for a size that is searched."""
FINE = 4
"""The search ends if a size that does not fit is smaller by at most this part of one that fits."""


class FittingSizes:
    """Sizes for the trials of one signature, from likely to unlikely."""

    def __init__(self, builder: TrialBuilder) -> None:
        self.builder = builder
        self.usual, self.unusual = builder.sizings()
        self.windows = WindowSizes(builder.model, builder.signature)
        self.too_small: dict[Sizing, str] = {}
        """A node without a window, for each size that is too small."""

    def fit(self, sizing: Sizing) -> bool:
        """Whether every window fits; a size that is too small is recorded."""
        if node := self._misfit(sizing):
            self.too_small[sizing] = node
        return not node

    def larger(self) -> Iterator[Sizing]:
        """Sizes about as small as fit, if those before were too small."""
        if not self.too_small:
            return
        start = replace(max(self.too_small, key=lambda sizing: sizing.other), rows=1, spread=0)
        smallest = self._smallest(start, rows=False) or self._smallest(start, rows=True)
        if smallest is None:
            return
        yield smallest
        yield replace(smallest, rows=smallest.rows + 1)
        yield replace(smallest, other=smallest.other + 3, spread=1)

    def words(self) -> str:
        """What was too small for which nodes."""
        nodes = ", ".join(f"`{node}`" for node in dict.fromkeys(self.too_small.values()))
        return f"sizes too small for the windows of {nodes} ({'; '.join(map(str, self.too_small))})"

    def _smallest(self, start: Sizing, *, rows: bool) -> Sizing | None:
        """Double the sizes until every window fits, then halve the distance; with `rows`, the rows too."""

        def sized(size: int) -> Sizing:
            return replace(start, other=size, rows=size if rows else start.rows)

        below = above = start.other
        while self._misfit(sized(above)):
            below, above = above, above * 2
            elements = self._elements(sized(above))
            if elements > MOST_ELEMENTS or elements == self._elements(sized(below)):  # no size is open
                return None
        while above - below > max(1, above // FINE):
            middle = (below + above) // 2
            below, above = (middle, above) if self._misfit(sized(middle)) else (below, middle)
        return sized(above)

    def _misfit(self, sizing: Sizing) -> str:
        return self.windows.misfit(self.builder.shapes_at(sizing))

    def _elements(self, sizing: Sizing) -> int:
        return sum(math.prod(shape) for shape in self.builder.shapes_at(sizing).values())


# Sizes that leave a convolution or pooling without a window.

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
    # a step that stands for several nodes has no attributes
    if attrs.get("padding", "SAME") == "SAME" or image is None or len(image) != layout.rank:
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
