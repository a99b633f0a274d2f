"""The options of a rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.fix.rule import Rule
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FixOptions:
    """How to rewrite and verify a model."""

    signatures: tuple[str, ...] | None = None
    """The signatures to keep (default: all)."""
    fetches: tuple[str, ...] = ()
    """The outputs of a graph without signatures (default: a guess); the rest is removed."""
    feeds: tuple[str, ...] = ()
    """Tensors that are fed besides the placeholders: they become placeholders."""
    loaders: tuple[str, ...] | None = None
    """The loaders that must accept the model (default: the usual ones for the target)."""
    allow_lossy: bool = False
    freeze: bool = False
    """Whether variables always become constants."""
    drop_asserts: bool = False
    rules: Sequence[Rule] = ()
    """The user's rules; they are tried before tfport's."""
    inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    """Inputs to compare outputs on, instead of generated ones: arrays by name, for one or several calls."""
    rtol: float | None = None
    atol: float | None = None
    pythons: tuple[str, ...] = ()
    """Python interpreters that have the target's TensorFlow installed."""
    prove: bool = False
    """Whether to run the rewritten model in the target, installed from the package index."""
    runs: int | None = None
    """How often to run it there (default: ten times for a proof, once in a named Python)."""
