"""The ops that a runtime can run: lowerings, kernels and structures by op, and custom definitions.

`BUILT_IN` holds tfport's own. A custom registry (`custom.registry`) is layered on it and adds to it
for the sessions that use that registry; others are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tfport import discovery
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.op_signature import OpSignature
from tfport.runtime.lower import FAMILIES, KERNELS, LOWERINGS, SHAPES, STRUCTURES, Implementation
from tfport.runtime.operand import Dims

Shapes = Callable[..., list[Dims | None]]


class OpImplementations:
    """Implementations by op, layered on `base`; this layer takes precedence."""

    def __init__(self, base: OpImplementations | None = None) -> None:
        self.base = base
        self.definitions: dict[str, OpDef] = {}
        self.lowerings: dict[str, list[Implementation]] = {}
        self.kernels: dict[str, list[Implementation]] = {}
        self.structures: dict[str, Implementation] = {}
        self.shapes: dict[str, Shapes] = {}

    def lowerings_of(self, op: str) -> list[Implementation]:
        return [declared for layer in self._chain_of(op) for declared in layer.own(op).lowerings.get(op, ())]

    def kernels_of(self, op: str) -> list[Implementation]:
        return [declared for layer in self._chain_of(op) for declared in layer.own(op).kernels.get(op, ())]

    def kernel_for(self, op: str, attrs: Mapping[str, Attr]) -> Implementation | None:
        """The host kernel that runs a node with these attributes."""
        return next((kernel for kernel in self.kernels_of(op) if kernel.takes(attrs)), None)

    def lowerings_for(self, op: str, attrs: Mapping[str, Attr]) -> list[Implementation]:
        """The lowerings to try for these attributes, down to the first layer with a matching kernel."""
        lowerings: list[Implementation] = []
        for layer in self._chain_of(op):
            lowerings += [
                lowering for lowering in layer.own(op).lowerings.get(op, ()) if lowering.takes(attrs)
            ]
            if any(kernel.takes(attrs) for kernel in layer.kernels.get(op, ())):
                break
        return lowerings

    def structure_of(self, op: str) -> Implementation | None:
        for layer in self._chain_of(op):
            if structure := layer.own(op).structures.get(op):
                return structure
            if op in layer.kernels or op in layer.lowerings:
                return None
        return None

    def shapes_of(self, op: str) -> Shapes | None:
        return next((rule for layer in self._chain_of(op) if (rule := layer.own(op).shapes.get(op))), None)

    def definition_of(self, op: str) -> OpDef | None:
        """The definition of a custom op; None for TensorFlow's ops, whose definitions are in the atlas."""
        return next((definition for layer in self.chain() if (definition := layer.definitions.get(op))), None)

    def signature_of(self, op: str) -> OpSignature | None:
        definition = self.definition_of(op)
        return OpSignature(definition) if definition is not None else None

    def mismatches(self, op: str, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> list[str]:
        """How a node contradicts the definition of its custom op; TensorFlow's ops are not validated."""
        return []

    def why_missing(self, op: str, attrs: Mapping[str, Attr], why: str) -> str | None:
        """Why no kernel runs a node of a custom op; None for TensorFlow's ops."""
        return None

    def ops(self) -> set[str]:
        """Every op that can run."""
        tables: list[dict[str, Any]] = [
            table
            for layer in self.chain()
            for table in (layer.whole().lowerings, layer.kernels, layer.structures)
        ]
        return {op for table in tables for op in table}

    def own(self, op: str) -> OpImplementations:
        """This layer, with everything loaded that it declares for an op."""
        return self

    def whole(self) -> OpImplementations:
        """This layer, with everything loaded that it declares."""
        return self

    def chain(self) -> Iterator[OpImplementations]:
        """This layer and those below it, from the top."""
        layer: OpImplementations | None = self
        while layer is not None:
            yield layer
            layer = layer.base

    def _chain_of(self, op: str) -> list[OpImplementations]:
        """The layers that count for an op: none below the one that defines it."""
        layers = [self]
        while op not in layers[-1].definitions and (below := layers[-1].base) is not None:
            layers.append(below)
        return layers


class _BuiltIn(OpImplementations):
    """tfport's own ops; the modules that declare an op are imported when it is first used."""

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
        LOWERINGS.of(op)
        KERNELS.of(op)
        if structures := STRUCTURES.of(op):
            self.structures[op] = structures[-1]
        if shapes := SHAPES.of(op):
            self.shapes[op] = shapes[-1]
        self._declared.add(op)  # now that everything is there, for all threads


BUILT_IN = _BuiltIn()


class TracedOp(NamedTuple):
    """What a tracer knows of an op before it looks at a node: found once for all nodes of the op."""

    custom_signature: OpSignature | None
    """None for TensorFlow's ops."""
    structure: Implementation | None
    kernels: list[Implementation]

    @classmethod
    def of(cls, op: str, implementations: OpImplementations) -> TracedOp:
        return cls(
            implementations.signature_of(op), implementations.structure_of(op), implementations.kernels_of(op)
        )

    def kernel_for(self, attrs: Mapping[str, Attr]) -> Implementation | None:
        """The host kernel that runs a node with these attributes."""
        for kernel in self.kernels:
            if kernel.takes(attrs):
                return kernel
        return None
