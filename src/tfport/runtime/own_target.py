"""tfport's own runtime as a target: what it has is what its kernels declare, and what a registry adds."""

from __future__ import annotations

from importlib.metadata import version

from tfport import discovery
from tfport.atlas.known_ops import known_ops
from tfport.atlas.target import OURS, Target
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.registry.kernels import Kernel
from tfport.registry.registry import Registry, Source
from tfport.runtime.custom.custom_kernel import CustomKernel
from tfport.runtime.custom.registry import Registry as Custom
from tfport.runtime.custom.registry import ready
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import FAMILIES

DEVICE = "CPU"
IN_ONNX, IN_NUMPY, WHILE_PLANNING = "onnx", "numpy", "plan"
"""How an op is run: said in ONNX, computed on the host, answered while a plan is made."""


class OwnSource:
    """TensorFlow's ops that tfport runs; their definitions are the newest that were recorded."""

    name = OURS

    def __init__(self, repertoire: OpImplementations) -> None:
        self._repertoire = repertoire

    def ops(self) -> list[str]:
        known = self._repertoire.ops() & set(known_ops())
        return sorted(op for op in known if self._repertoire.definition_of(op) is None)

    def definition(self, op: str) -> OpDef | None:
        if self._repertoire.definition_of(op) is not None or not ways_to_run(op, self._repertoire):
            return None
        return known_ops().get(op)

    def kernels(self, op: str) -> list[Kernel]:
        if self._repertoire.definition_of(op) is not None:
            return []
        if self._repertoire.structure_of(op) is not None:
            return [Kernel(op, DEVICE)]
        hosts, lowerings = self._repertoire.kernels_of(op), self._repertoire.lowerings_of(op)
        added = [one.as_kernel() for one in (*hosts, *lowerings) if isinstance(one, CustomKernel)]
        hosts, lowerings = (
            [one for one in some if not isinstance(one, CustomKernel)] for some in (hosts, lowerings)
        )
        return added + [Kernel(op, DEVICE, dict(one.constraints)) for one in hosts or lowerings]


class CustomSource:
    """The ops of one's own that one provider defines, with kernels from wherever."""

    def __init__(self, name: str, registry: Custom, ops: list[str]) -> None:
        self.name = name
        self._registry, self._ops = registry, ops

    def ops(self) -> list[str]:
        return self._ops

    def definition(self, op: str) -> OpDef | None:
        return self._registry.definition_of(op) if op in self._ops else None

    def kernels(self, op: str) -> list[Kernel]:
        if op not in self._ops:
            return []
        declared = [*self._registry.kernels_of(op), *self._registry.lowerings_of(op)]
        return [one.as_kernel() for one in declared if isinstance(one, CustomKernel)]


def ways_to_run(op: str, repertoire: OpImplementations) -> list[str]:
    """How an op is run; nothing where it is not."""
    there = {
        IN_ONNX: repertoire.lowerings_of(op),
        IN_NUMPY: repertoire.kernels_of(op),
        WHILE_PLANNING: repertoire.structure_of(op),
    }
    return [way for way, has in there.items() if has]


def own_target(registry: Custom | None = None) -> Target:
    """The runtime of this process, with the ops of a registry; those of the process-wide one by default."""
    discovery.load_package(FAMILIES)
    registry = ready(registry)
    name = f"{OURS} {version(OURS)}"
    sources: list[Source] = [*custom_sources(registry), OwnSource(registry)]
    return Target(name, OURS, Registry(f"{name} (cpu)", sources), build=None, kind=OURS)


def custom_sources(registry: Custom) -> list[CustomSource]:
    """The definitions of a registry, by who provides them."""
    found: dict[str, list[str]] = {}
    for one in registry.table():
        if one.definition is not None:
            found.setdefault(one.provider, []).append(one.op)
    return [CustomSource(provider, registry, ops) for provider, ops in found.items()]
