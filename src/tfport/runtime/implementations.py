"""What a runtime can run: lowerings, kernels and structures by op, and ops beyond TensorFlow's.

A repertoire is a value. That of tfport itself is `BUILT_IN`; one that is made on it adds to it
for whoever is given it, and changes nothing for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfport import discovery
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.signature import OpSignature
from tfport.runtime.lower import FAMILIES, KERNELS, LOWERINGS, SHAPES, STRUCTURES, Implementation
from tfport.runtime.operand import Dims

Shapes = Callable[..., list[Dims | None]]


class OpImplementations:
    """Its own declarations come before those that it stands on."""

    def __init__(self, base: OpImplementations | None = None) -> None:
        self.base = base
        self.definitions: dict[str, OpDef] = {}
        self.lowerings: dict[str, list[Implementation]] = {}
        self.kernels: dict[str, list[Implementation]] = {}
        self.structures: dict[str, Implementation] = {}
        self.shapes: dict[str, Shapes] = {}

    def lowerings_of(self, op: str) -> list[Implementation]:
        return [declared for one in self._chain_of(op) for declared in one.own(op).lowerings.get(op, ())]

    def kernels_of(self, op: str) -> list[Implementation]:
        return [declared for one in self._chain_of(op) for declared in one.own(op).kernels.get(op, ())]

    def kernel_for(self, op: str, attrs: Mapping[str, Attr]) -> Implementation | None:
        """The host kernel that runs a node with these attributes."""
        return next((kernel for kernel in self.kernels_of(op) if kernel.takes(attrs)), None)

    def lowerings_for(self, op: str, attrs: Mapping[str, Attr]) -> list[Implementation]:
        """The lowerings to try for these attributes, up to who has a kernel for them: that one was meant."""
        found: list[Implementation] = []
        for one in self._chain_of(op):
            found += [lowering for lowering in one.own(op).lowerings.get(op, ()) if lowering.takes(attrs)]
            if any(kernel.takes(attrs) for kernel in one.kernels.get(op, ())):
                break
        return found

    def structure_of(self, op: str) -> Implementation | None:
        for one in self._chain_of(op):
            if found := one.own(op).structures.get(op):
                return found
            if op in one.kernels or op in one.lowerings:
                return None
        return None

    def shapes_of(self, op: str) -> Shapes | None:
        return next((found for one in self._chain_of(op) if (found := one.own(op).shapes.get(op))), None)

    def definition_of(self, op: str) -> OpDef | None:
        """How an op of one's own is defined; None for TensorFlow's, which the atlas knows."""
        return next((found for one in self.chain() if (found := one.definitions.get(op))), None)

    def signature_of(self, op: str) -> OpSignature | None:
        definition = self.definition_of(op)
        return OpSignature(definition) if definition is not None else None

    def mismatches(self, op: str, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> list[str]:
        """What is wrong with a node whose op is defined here; TensorFlow's are taken as files have them."""
        return []

    def why_missing(self, op: str, attrs: Mapping[str, Attr], why: str) -> str | None:
        """Why no kernel runs a node whose op is defined here; None for TensorFlow's."""
        return None

    def ops(self) -> set[str]:
        """Every op that it can run."""
        tables: list[dict[str, Any]] = [
            table for one in self.chain() for table in (one.whole().lowerings, one.kernels, one.structures)
        ]
        return {op for table in tables for op in table}

    def own(self, op: str) -> OpImplementations:
        """Itself, once it knows all that it has for an op."""
        return self

    def whole(self) -> OpImplementations:
        """Itself, once it knows all that it has."""
        return self

    def chain(self) -> Iterator[OpImplementations]:
        """This one and those that it stands on, the nearest first."""
        one: OpImplementations | None = self
        while one is not None:
            yield one
            one = one.base

    def _chain_of(self, op: str) -> Iterator[OpImplementations]:
        """Those whose declarations of an op count: one that defines it starts anew."""
        for one in self.chain():
            yield one
            if op in one.definitions:
                return


class _Own(OpImplementations):
    """The ops of tfport itself; the modules that declare an op are imported when it is first needed."""

    def __init__(self) -> None:
        super().__init__()
        self.lowerings, self.kernels = LOWERINGS.entries, KERNELS.entries
        self._declared: set[str] = set()

    def own(self, op: str) -> OpImplementations:
        if op not in self._declared:
            self._declare(op)
        return self

    def whole(self) -> OpImplementations:
        discovery.load_package(FAMILIES)
        for op in STRUCTURES.entries:
            self._declare(op)
        return self

    def _declare(self, op: str) -> None:
        self._declared.add(op)
        LOWERINGS.of(op)
        KERNELS.of(op)
        if structures := STRUCTURES.of(op):
            self.structures[op] = structures[-1]
        if shapes := SHAPES.of(op):
            self.shapes[op] = shapes[-1]


BUILT_IN = _Own()
