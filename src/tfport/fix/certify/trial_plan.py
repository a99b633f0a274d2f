"""Which trials are run, in which order: the user's inputs, or warm-up requests and generated inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.fix.certify.arrays import ORDINARY
from tfport.fix.certify.empty_windows import WindowSizes
from tfport.fix.certify.runners import ModelSide, TrialOutcome
from tfport.fix.certify.trials import Sizing, Trial, TrialBuilder, user_trials, warmup_trials
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.saved_model.warmup import WarmupRequest, read_warmup
from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT

SECONDS = 60.0
"""The time of the original for the generated trials of a signature; further ones are skipped and reported."""
ENOUGH = 3
"""If the original accepts this many sizes, unusual ones are not tried."""
Planned = tuple[Trial, Callable[[TrialOutcome], None]]
"""A trial, and a callback for the outcome of the original."""


class TrialPlan:
    """The trials of one verification; what is skipped is added to `left_out`."""

    def __init__(
        self,
        side: ModelSide,
        user_inputs: Sequence[Mapping[str, Any]],
        left_out: list[str],
        words: Sequence[bytes] = (),
    ) -> None:
        self.side = side
        self.user_inputs = user_inputs
        self.left_out = left_out
        self.words = words
        """Words that the model looks up, for generated strings."""

    def trials(self) -> Iterator[Planned]:
        """The trials; a signature that the user's inputs fit is tried on them only."""
        requests = self._warmup()
        for signature in self.side.entrances.values():
            if user := list(user_trials(signature, self.user_inputs)):
                yield from ((trial, _ignore) for trial in user)
                continue
            if self.user_inputs:
                self.left_out.append(
                    f"the user's inputs for {signature.name}, which takes {_names(signature)}"
                )
            yield from ((trial, _ignore) for trial in warmup_trials(signature, requests, DEFAULT))
            try:
                yield from self._generated(TrialBuilder(self.side.model, signature, self.words))
            except Error as error:  # a dtype or size for which no inputs can be generated
                self.left_out.append(f"generated inputs of {signature.name}: {error}")

    def _warmup(self) -> list[WarmupRequest]:
        """The warm-up requests of the model; an unreadable file is a caveat, not an error."""
        if self.side.model.format is not SAVED_MODEL:
            return []
        try:
            return read_warmup(self.side.model.files)
        except UnreadableFile as error:
            self.left_out.append(f"the warm-up requests: {error}")
            return []

    def _generated(self, builder: TrialBuilder) -> Iterator[Planned]:
        end = time.monotonic() + SECONDS
        taken: list[Sizing] = []
        usual, unusual = builder.sizings()
        windows = WindowSizes(self.side.model, builder.signature)
        too_small: dict[Sizing, str] = {}
        for sizing in [*usual, *unusual]:
            if len(taken) >= ENOUGH and sizing not in usual:
                break
            if time.monotonic() > end:
                self.left_out.append(f"{builder.signature.name}: more sizes (out of time)")
                break
            if node := windows.misfit(builder.shapes_at(sizing)):
                too_small[sizing] = node
                continue
            outcomes: list[TrialOutcome] = []
            yield builder.made(sizing, ORDINARY), outcomes.append
            if not outcomes[0].ran or _says_something(outcomes[0].outputs):
                taken.append(sizing)
        usual = [sizing for sizing in usual if sizing not in too_small]
        if too_small:
            nodes = ", ".join(f"`{node}`" for node in dict.fromkeys(too_small.values()))
            sizes = "; ".join(map(str, too_small))
            self.left_out.append(
                f"{builder.signature.name}: sizes too small for the windows of {nodes} ({sizes})"
            )
        if not taken and not usual:
            return
        for profile in builder.profiles() if builder.signature.inputs else ():
            if time.monotonic() > end:
                self.left_out.append(f"{builder.signature.name}: `{profile.name}` (out of time)")
                continue
            yield builder.made((taken or usual)[min(1, len(taken or usual) - 1)], profile), _ignore


def _names(signature: Signature) -> str:
    return ", ".join(signature.inputs) or "no inputs"


def _says_something(outputs: Mapping[str, Any] | None) -> bool:
    """Whether an output is not empty."""
    parts = [part for v in (outputs or {}).values() for part in (v if isinstance(v, tuple) else (v,))]
    return any(np.size(part) for part in parts)


def _ignore(outcome: TrialOutcome) -> None:
    """Ignore the outcome of a trial."""
