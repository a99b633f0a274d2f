"""What a runtime knows: ops with their definitions, and the kernels of each.

A registry is made of sources, each of which registers ops: a build of
TensorFlow, an add-on package, a custom-op library, tfport's own runtime. A
reduced build keeps only a selection of them.
Which kernel would run a node is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.registry.kernels import Kernel


class Source(Protocol):
    """One thing that registers ops and kernels."""

    @property
    def name(self) -> str:
        """As a person names it: `tensorflow 2.8.4`."""
        ...

    def ops(self) -> list[str]:
        """The ops that it registers, sorted."""
        ...

    def definition(self, op: str) -> OpDef | None:
        """How it defines an op; None for one that it does not register."""
        ...

    def kernels(self, op: str) -> list[Kernel]:
        """The kernels that it registers for an op, its own or another's."""
        ...


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reduced build keeps: `None` in either place keeps everything."""

    ops: frozenset[str] | None = None
    kernels: frozenset[str] | None = None
    """Names of kernel classes; the recorded registries do not tell them, so they select nothing here."""


class Registry(Mapping[str, OpDef]):
    """The ops of a runtime by name, and their kernels."""

    def __init__(self, name: str, sources: Sequence[Source], selection: Selection | None = None) -> None:
        self.name = name
        self.sources = tuple(sources)
        self.selection = selection or Selection()

    def __getitem__(self, op: str) -> OpDef:
        source = self.provider(op)
        definition = source.definition(op) if source is not None else None
        if definition is None:
            raise KeyError(op)
        return definition

    def __contains__(self, op: object) -> bool:
        return isinstance(op, str) and self.provider(op) is not None

    def __iter__(self) -> Iterator[str]:
        names = sorted({op for source in self.sources for op in source.ops()})
        return (op for op in names if self._keeps(op))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def provider(self, op: str) -> Source | None:
        """The source that registers an op; the first, where several do."""
        if not self._keeps(op):
            return None
        return next((source for source in self.sources if source.definition(op) is not None), None)

    def is_whole(self, op: str) -> bool:
        """Whether all of an op's definition is known; a library that was only read may not tell it."""
        asked = getattr(self.provider(op), "is_whole", None)
        return asked is None or bool(asked(op))

    def kernels(self, op: str) -> list[Kernel]:
        """The kernels for an op, from all sources."""
        return [k for source in self.sources for k in source.kernels(op)] if op in self else []

    def _keeps(self, op: str) -> bool:
        return self.selection.ops is None or op in self.selection.ops
