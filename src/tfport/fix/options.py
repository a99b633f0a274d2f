"""What a caller asks of a rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tfport.fix.rule import Rule


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Beside the model and the target."""

    signatures: tuple[str, ...] | None = None
    """Those to keep; all unless said."""
    fetches: tuple[str, ...] = ()
    """The tensors that a graph without signatures answers with; what nothing reads unless said."""
    loaders: tuple[str, ...] | None = None
    """Who must be able to load it; the target's own loaders unless said."""
    allow_lossy: bool = False
    freeze: bool = False
    """Whether variables become constants in any case."""
    drop_asserts: bool = False
    rules: Sequence[Rule] = ()
    """One's own; they come before tfport's."""
    inputs: dict[str, Any] = field(default_factory=dict)
    """Real inputs to compare answers on."""
    rtol: float | None = None
    atol: float | None = None
    pythons: tuple[str, ...] = ()
    """Interpreters that have the target's TensorFlow."""
