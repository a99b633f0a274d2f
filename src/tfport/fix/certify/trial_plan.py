"""Which trials are run, in which order: the user's inputs, or warm-up requests and generated inputs.

Generated inputs have sizes into which every window of the model fits. An image smaller than the windows of a
model makes an empty tensor inside it. Releases differ there: one returns NaN, one reads memory that it did
not write, one crashes. `window_sizes` tells.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.fix.certify.inputs.arrays import MIXED, ORDINARY, ValueProfile
from tfport.fix.certify.runners import ModelSide, TrialOutcome
from tfport.fix.certify.trials import ATTEMPTS, Sizing, Trial, TrialBuilder, user_trials, warmup_trials
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.window_sizes import WindowSizes
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.saved_model.warmup import WarmupRequest, read_warmup
from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.startup.dataclass import replace

SECONDS = 60.0
"""The processor time of all threads for the generated trials of a signature; further ones are skipped and
reported. A busy machine must not make a comparison weaker."""
FEW_SIZES = 0.25
"""If a call takes at least this many CPU-seconds, only two sizes are tried. Every open size differs
between them, and unusual values are tried only in the smaller one."""
FEW_VALUES = 0.05
"""From this many on, the second input has values of several profiles side by side, and few others follow."""
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
        is_same: Callable[[str], bool] = lambda signature: False,
    ) -> None:
        """`is_same`: whether both models are the same program, by the name of a signature."""
        self.side = side
        self.ask = ask
        self.user_inputs = user_inputs
        self.left_out = verification.left_out
        self.same_as = verification.same_as
        self.words = words
        """Words that the model looks up, for generated strings."""
        self.is_same = is_same

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
        end, room = time.process_time() + SECONDS, MOST_KEPT
        attempts = Attempts(builder, self.ask)
        taken: list[Sizing] = []
        seen: set[ValueProfile] = set()
        costs: list[float] = []
        sizes = FittingSizes(builder)
        few = bool(sizes.usual) and sizes.is_large(sizes.usual[0]) and self.is_same(builder.signature.name)
        for sizing in itertools.chain(sizes.usual, sizes.unusual, sizes.larger()):
            if len(taken) >= sizes.enough and sizing not in sizes.usual:
                break
            if time.process_time() > end:
                self.left_out.append(f"{builder.signature.name}: more sizes (out of time)")
                break
            if len(taken) > 1 and min(costs) > FEW_SIZES:
                self.left_out.append(
                    f"{builder.signature.name}: more sizes (a call takes {min(costs):.1f} s)"
                )
                break
            if len(taken) == 1 and min(costs) > FEW_SIZES and sizing in sizes.usual:
                other = replace(sizes.usual[-1], rows=sizing.rows)
                sizing = other if sizes.fit(other) else sizing
            if not sizes.fit(sizing):
                continue
            if (room := room - sizes.elements(sizing)) < 0:
                self.left_out.append(f"{builder.signature.name}: more sizes (their inputs are too large)")
                break
            values = MIXED if len(taken) == 1 and min(costs) > FEW_VALUES else ORDINARY
            seen.add(values)
            began = time.process_time()
            tried = attempts.first_accepted(sizing, values, again=builder.parses_features)
            costs.append(time.process_time() - began)
            yield tried
            if not tried[1].ran or _says_something(tried[1].outputs):
                taken.append(sizing)
        if sizes.too_small:
            self.left_out.append(f"{builder.signature.name}: {sizes.words()}")
        if few:
            self.left_out.append(f"{builder.signature.name}: more values (both models are the same program)")
            return
        taken = taken or [sizing for sizing in sizes.usual if sizing not in sizes.too_small]
        profiles = builder.profiles() if builder.signature.inputs and taken else []
        if profiles and costs and min(costs) > FEW_VALUES:
            profiles = [profile for profile in builder.few_of(profiles) if profile not in seen]
            each = "an input of its own for each kind of values"
            self.left_out.append(f"{builder.signature.name}: {each} (a call takes {min(costs):.2g} s)")
        for profile in profiles:
            if time.process_time() > end:
                self.left_out.append(f"{builder.signature.name}: `{profile.name}` (out of time)")
                continue
            sizing = taken[0 if len(taken) < 2 or sizes.is_large(taken[0]) else 1]
            if costs and min(costs) > FEW_SIZES:
                sizing = min(taken, key=sizes.elements)
            if (room := room - sizes.elements(sizing)) < 0:
                self.left_out.append(f"{builder.signature.name}: `{profile.name}` (the inputs are too large)")
                continue
            yield attempts.first_accepted(sizing, profile)


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
"""The most elements of all inputs together for a size that is unusual, or searched."""
LARGE, MOST_LARGE_ROWS = 1 << 14, 3
"""Trials with this many elements in a row take long and have few rows; fewer if no other size is open."""
HUGE, MOST_HUGE_ROWS = 1 << 22, 2
MOST_KEPT = 1 << 28
"""The most elements of all generated inputs of a signature, which are kept: a gigabyte of float32."""
FINE = 4
"""The search ends if a size that does not fit is smaller by at most this part of one that fits."""


class FittingSizes:
    """Sizes for the trials of one signature, from likely to unlikely."""

    def __init__(self, builder: TrialBuilder) -> None:
        self.builder = builder
        self.enough = ENOUGH
        self.usual, unusual = builder.sizings()
        self.unusual = [sizing for sizing in unusual if self.elements(sizing) <= MOST_ELEMENTS]
        if self.usual and self.is_large(self.usual[0]):
            is_huge = self.elements(self.usual[0]) >= HUGE
            most = MOST_HUGE_ROWS if is_huge or not self._has_other_sizes() else MOST_LARGE_ROWS
            self.usual = [sizing for sizing in self.usual if sizing.rows <= most]
            self.enough = min(ENOUGH, most)
        self.windows = WindowSizes(builder.model, builder.signature)
        self.too_small: dict[Sizing, str] = {}
        """A node without a window, for each size that is too small."""

    def _has_other_sizes(self) -> bool:
        """Whether callers choose sizes besides the number of rows."""
        first = self.usual[0]
        larger = replace(first, other=first.other + 3, spread=1)
        return self.builder.shapes_at(first) != self.builder.shapes_at(larger)

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
            elements = self.elements(sized(above))
            if elements > MOST_ELEMENTS or elements == self.elements(sized(below)):  # no size is open
                return None
        while above - below > max(1, above // FINE):
            middle = (below + above) // 2
            below, above = (middle, above) if self._misfit(sized(middle)) else (below, middle)
        return sized(above)

    def is_large(self, sizing: Sizing) -> bool:
        return self.elements(sizing) >= LARGE

    def _misfit(self, sizing: Sizing) -> str:
        return self.windows.misfit(self.builder.shapes_at(sizing))

    def elements(self, sizing: Sizing) -> int:
        """How many elements all inputs have."""
        return sum(math.prod(shape) for shape in self.builder.shapes_at(sizing).values())
