"""What a tracer knows of an op before it looks at a node: found once for all nodes of the op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tfport.graph.attrs import Attr
from tfport.graph.op_signature import OpSignature
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import Implementation


class TracedOp(NamedTuple):
    """An op, as the implementations of a tracer have it."""

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
