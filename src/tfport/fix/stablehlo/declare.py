"""Translations of StableHLO ops by name.

    @translates("negate")
    def negate(op, hlo, x):
        return op.each("Neg", x)

`op` builds nodes, `hlo` is the operation with its attributes, regions and result types; then come
its operands. A translation returns a tensor, or one for each result, and raises a refusal for what
TensorFlow ops cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tfport.fix.stablehlo.tensor import HloTensor

F = TypeVar("F", bound=Callable[..., Any])
Results = HloTensor | Sequence[HloTensor]
TRANSLATIONS: dict[str, Callable[..., Results]] = {}
CUSTOM_CALLS: dict[str, Callable[..., Results]] = {}
"""Translations of custom calls by their target."""


def translates(names: str) -> Callable[[F], F]:
    """Declare the translation of ops."""

    def declare(function: F) -> F:
        TRANSLATIONS.update(dict.fromkeys(names.split(), function))
        return function

    return declare


def translates_call(names: str) -> Callable[[F], F]:
    """Declare the translation of custom calls."""

    def declare(function: F) -> F:
        CUSTOM_CALLS.update(dict.fromkeys(names.split(), function))
        return function

    return declare


def integers(value: Any) -> list[int]:
    """An attribute of integers."""
    return [int(n) for n in np.asarray(value).reshape(-1)]
