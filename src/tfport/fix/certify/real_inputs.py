"""Trials with real inputs: those of the user, and the warm-up requests of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.fix.certify.trials import GIVEN, WARMUP, Trial
from tfport.formats.saved_model.warmup import WarmupRequest
from tfport.graph.model import Signature


def user_trials(signature: Signature, user_inputs: Sequence[Mapping[str, Any]]) -> Iterator[Trial]:
    """The user's inputs that match this signature."""
    needed = set(signature.inputs) - set(signature.defaults)
    for number, arrays in enumerate(user_inputs, 1):
        if needed <= set(arrays) and (needed or set(arrays) <= set(signature.inputs)):
            inputs = {name: array for name, array in arrays.items() if name in signature.inputs}
            name = "given" if len(user_inputs) == 1 else f"given {number}"
            yield Trial(signature.name, name, GIVEN, inputs, _is_finite(inputs.values()))


def warmup_trials(signature: Signature, requests: list[WarmupRequest], default: str) -> Iterator[Trial]:
    """The warm-up requests of this signature."""
    for number, request in enumerate(requests, 1):
        if (request.signature or default) != signature.name:
            continue
        inputs = request.inputs
        if "" in inputs:  # Examples, which the server feeds to the only input
            if len(signature.inputs) != 1:
                continue
            inputs = dict.fromkeys(signature.inputs, inputs[""])
        if set(inputs) <= set(signature.inputs):
            yield Trial(signature.name, f"warm-up {number}", WARMUP, inputs, _is_finite(inputs.values()))


def _is_finite(arrays: Any) -> bool:
    flat = [part for array in arrays for part in (array if isinstance(array, tuple) else (array,))]
    floats = [a for a in map(np.asarray, flat) if a.dtype.kind in "fc"]
    return all(bool(np.isfinite(a).all()) for a in floats)
