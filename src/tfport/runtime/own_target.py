"""tfport's own runtime as a target: the ops that it implements, and those of a custom registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

from tfport.atlas.known_ops import known_ops
from tfport.atlas.target import OURS, Target
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.frontends.lite.definitions import lite_definitions
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, Source
from tfport.runtime.custom.custom_kernel import CustomKernel
from tfport.runtime.custom.registry import Registry as Custom
from tfport.runtime.custom.registry import ready
from tfport.runtime.implementations import OpImplementations

DEVICE = "CPU"
IN_ONNX, IN_NUMPY, WHILE_PLANNING = "onnx", "numpy", "plan"
"""How an op runs: lowered to ONNX, with a host kernel, or handled while planning."""


class OwnSource:
    """Ops that tfport runs: TensorFlow's in their newest recorded definitions, or TensorFlow Lite's."""

    name = OURS
    accepts_older_attrs = True

    def __init__(
        self,
        implementations: OpImplementations,
        definitions: Callable[[], Mapping[str, OpDef]] = known_ops,
    ) -> None:
        self._implementations, self._definitions = implementations, definitions

    def ops(self) -> list[str]:
        known = self._implementations.ops() & set(self._definitions())
        return sorted(op for op in known if self._implementations.definition_of(op) is None)

    def definition(self, op: str) -> OpDef | None:
        if self._implementations.definition_of(op) is not None or not ways_to_run(op, self._implementations):
            return None
        return self._definitions().get(op)

    def kernels(self, op: str) -> list[Kernel]:
        if self._implementations.definition_of(op) is not None:
            return []
        if self._implementations.structure_of(op) is not None:
            return [Kernel(op, DEVICE)]
        hosts, lowerings = self._implementations.kernels_of(op), self._implementations.lowerings_of(op)
        added = [kernel.as_kernel() for kernel in (*hosts, *lowerings) if isinstance(kernel, CustomKernel)]
        hosts, lowerings = (
            [kernel for kernel in some if not isinstance(kernel, CustomKernel)] for some in (hosts, lowerings)
        )
        return added + [Kernel(op, DEVICE, dict(kernel.constraints)) for kernel in hosts or lowerings]


class CustomSource:
    """The custom ops that one provider defines, with kernels of any provider."""

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
        return [kernel.as_kernel() for kernel in declared if isinstance(kernel, CustomKernel)]


def ways_to_run(op: str, implementations: OpImplementations) -> list[str]:
    """How an op runs; empty if it does not."""
    ways = {
        IN_ONNX: implementations.lowerings_of(op),
        IN_NUMPY: implementations.kernels_of(op),
        WHILE_PLANNING: implementations.structure_of(op),
    }
    return [way for way, entries in ways.items() if entries]


def own_target(registry: Custom | None = None) -> Target:
    """The runtime of this process with the ops of a custom registry (default: the process-wide one)."""
    registry = ready(registry)
    name = f"{OURS} {version(OURS)}"
    sources: list[Source] = [
        *custom_sources(registry),
        OwnSource(registry),
        OwnSource(registry, lite_definitions),
    ]
    return Target(name, OURS, OpRegistry(f"{name} (cpu)", sources), build=None, kind=OURS)


def custom_sources(registry: Custom) -> list[CustomSource]:
    """The definitions of a custom registry, by provider."""
    by_provider: dict[str, list[str]] = {}
    for row in registry.table():
        if row.definition is not None:
            by_provider.setdefault(row.provider, []).append(row.op)
    return [CustomSource(provider, registry, ops) for provider, ops in by_provider.items()]
