"""The options of a rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.fix.rule import Rule
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class SignatureChanges:
    """What to change in the signatures of a model."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """New names by the old ones."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """New names of signatures; the old name may be empty if the model has one signature."""
    heads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """New signatures: the outputs of each, by the names that they have in the model."""
    method: str = ""
    shapes: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    """New shapes of inputs, by the names that they have in the model."""
    batch: int | str | None = ""
    """The first size of every input; None for any size, an empty string for no change."""
    keep: tuple[str, ...] = ()
    """The signatures to keep, by their old names; empty for all."""

    def __bool__(self) -> bool:
        changed = (self.inputs, self.outputs, self.names, self.heads, self.method, self.shapes)
        return any(changed) or self.batch != ""

    def to_json(self) -> dict[str, Any]:
        """The changes that were asked for."""
        every = {
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "names": dict(self.names),
            "heads": {name: list(outputs) for name, outputs in self.heads.items()},
            "method": self.method,
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "keep": list(self.keep),
        }
        known = {key: value for key, value in every.items() if value}
        return known if self.batch == "" else {**known, "batch": self.batch}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SignatureChanges:
        heads = {name: tuple(outputs) for name, outputs in document.get("heads", {}).items()}
        shapes = {name: tuple(shape) for name, shape in document.get("shapes", {}).items()}
        keep = tuple(document.get("keep", ()))
        return cls(**{**document, "heads": heads, "shapes": shapes, "keep": keep})


UNCHANGED = SignatureChanges()


@dataclass(frozen=True, slots=True)
class FixOptions:
    """How to rewrite and verify a model."""

    signatures: tuple[str, ...] | None = None
    """The signatures to keep (default: all)."""
    signature_changes: SignatureChanges = UNCHANGED
    """New names and sizes; the changed model is what the rewritten one is compared with."""
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
    as_graph: bool = False
    """Whether a Keras file may have the graph as operations, with weights as constants."""
    rules: Sequence[Rule] = ()
    """The user's rules; they are tried before tfport's."""
    inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    """Inputs to compare outputs on, instead of generated ones: arrays by name, for one or several calls."""
    compare: bool = True
    """Whether to compare outputs; otherwise the verdict of a rewritten model is `not compared`."""
    rtol: float | None = None
    atol: float | None = None
    pythons: tuple[str, ...] = ()
    """Python interpreters that have the target's TensorFlow installed."""
    prove: bool = False
    """Whether to run the rewritten model in the target, installed from the package index."""
    runs: int | None = None
    """How often to run it there (default: ten times for a proof, once in a named Python)."""
