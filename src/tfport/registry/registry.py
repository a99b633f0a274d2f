"""What a runtime registers: ops with their definitions, and the kernels of each.

A registry is made of sources, each of which registers ops: a build of
TensorFlow, an add-on package, a custom-op library, tfport's own runtime. A
reduced build keeps only a selection of them.
Which kernel would run a node is decided in `registry.resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import dataclass


class Source(Protocol):
    """Something that registers ops and kernels."""

    @property
    def name(self) -> str:
        """For people: `tensorflow 2.8.4`."""
        ...

    def ops(self) -> list[str]:
        """The registered ops, sorted."""
        ...

    def definition(self, op: str) -> OpDef | None:
        """The definition of an op; None for one that it does not register."""
        ...

    def kernels(self, op: str) -> list[Kernel]:
        """The kernels that it registers for an op, which another source may define."""
        ...


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reduced build keeps; None keeps everything."""

    ops: frozenset[str] | None = None
    kernels: frozenset[str] | None = None
    """Names of kernel classes; the recorded registries do not have them, so they are not used here."""


class OpRegistry(Mapping[str, OpDef]):
    """The ops of a runtime by name, and their kernels."""

    def __init__(self, name: str, sources: Sequence[Source], selection: Selection | None = None) -> None:
        self.name = name
        self.sources = tuple(sources)
        self.selection = selection or Selection()
        self.identity = (*map(id, self.sources), self.selection.ops)
        """Equal for registries of the same sources, as long as these exist."""

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
        """The first source that registers an op."""
        if not self._keeps(op):
            return None
        for source in self.sources:
            if source.definition(op) is not None:
                return source
        return None

    def is_whole(self, op: str) -> bool:
        """Whether the whole definition of an op is known; that of a library may be read only in part."""
        provider = self.provider(op)
        return provider is None or is_whole(provider, op)

    def accepts_older_attrs(self, op: str) -> bool:
        """Whether nodes may have the attributes of an older definition (`registry.resolve`)."""
        return accepts_older_attrs(self.provider(op))

    def kernels(self, op: str) -> list[Kernel]:
        """The kernels for an op, from all sources."""
        return [k for source in self.sources for k in source.kernels(op)] if op in self else []

    def _keeps(self, op: str) -> bool:
        return self.selection.ops is None or op in self.selection.ops


def accepts_older_attrs(source: Source | None) -> bool:
    """Whether nodes may have the attributes of an older definition of an op than that of a source."""
    return bool(getattr(source, "accepts_older_attrs", False))


def is_whole(source: Source, op: str) -> bool:
    """Whether a source knows the whole definition of an op; that of a library may be read only in part."""
    knows_whole = getattr(source, "is_whole", None)
    return knows_whole is None or bool(knows_whole(op))
