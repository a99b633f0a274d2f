"""Registries of custom ops and kernels; each is layered on another registry.

    registry = Registry()                       # on the process-wide one
    @registry.op("MyMul: (x: T, y: T) -> z: T; T: {float, double}")
    @registry.kernel("MyMul")
    def my_mul(x, y): return x * y

`tfport.op` and `tfport.kernel` are those of `PROCESS_WIDE`, the default registry of sessions. A
registry takes precedence over the one below it; where it defines an op, kernels for that op in
registries below do not count. Registrations are permanent: a session plans with those that exist
when it first runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.atlas.known_ops import known_ops
from tfport.errors import BadRegistration, Error
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.op_signature import OpDefs
from tfport.runtime.custom.source_location import call_site, location_of, with_package
from tfport.runtime.implementations import BUILT_IN, OpImplementations
from tfport.runtime.lower import Implementation
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.runtime.custom.custom_kernel import CustomKernel
    from tfport.runtime.custom.shape_functions import ShapeFunction

# what only custom ops need is imported where it is used: most sessions have none
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RegisteredOp:
    """A custom op, or one of TensorFlow's ops with custom kernels."""

    op: str
    definition: OpDef | None
    """None for TensorFlow's ops."""
    provider: str
    kernels: tuple[CustomKernel, ...]


class Registry(OpImplementations):
    """Definitions, kernels and lowerings of custom ops, by op. Thread-safe."""

    def __init__(self, base: OpImplementations | None = None) -> None:
        super().__init__(PROCESS_WIDE if base is None else base)
        self.providers: dict[str, str] = {}
        self.lock = threading.RLock()

    def op(
        self, signature: str, *, shape: ShapeFunction | None = None, override: bool = False
    ) -> Callable[[F], F]:
        """Define an op; usable as a decorator. `override`: replace an existing definition."""
        from tfport.runtime.custom.parse_definition import parse_op_definition

        self.define(parse_op_definition(signature), call_site(), shape=shape, override=override)
        return lambda function: function

    def kernel(
        self,
        op: str,
        device: str = "cpu",
        *,
        label: str = "",
        priority: int = 0,
        lowers: bool = False,
        **constraints: Attr | Iterable[Attr],
    ) -> Callable[[F], F]:
        """Declare the decorated function as a kernel of an op, for some values of its attributes."""

        def declare(function: F) -> F:
            self.add_kernel(
                op,
                function,
                device=device,
                label=label,
                priority=priority,
                constraints=constraints,
                provider=location_of(function),
                lowers=lowers,
            )
            return function

        return declare

    def define(
        self, op_def: OpDef, provider: str, *, shape: ShapeFunction | None = None, override: bool = False
    ) -> None:
        """Register an op; BadRegistration if its name is taken."""
        op, provider = op_def.name, with_package(provider)
        rule = None
        if shape is not None:
            from tfport.runtime.custom.shape_functions import shape_rule

            rule = shape_rule(op_def, shape, provider)
        with self.lock:
            before = self.definitions.get(op)
            again = before == op_def and self.providers[op] == provider  # the same line ran again
            if before is not None and not (override or again):
                raise BadRegistration(
                    f"{provider}: op {op} is already registered by {self.providers[op]}; "
                    "`override=True` replaces it"
                )
            if not override and (releases := known_ops().releases(op)) is not None:
                raise BadRegistration(
                    f"{provider}: {op} is an op of TensorFlow since {releases[0]}; "
                    "`override=True` replaces it"
                )
            self.definitions[op], self.providers[op] = op_def, provider
            self.shapes.pop(op, None)
            if rule is not None:
                self.shapes[op] = rule
            if not again:
                self.kernels.pop(op, None)
                self.lowerings.pop(op, None)

    def add_kernel(
        self,
        op: str,
        function: Callable[..., Any],
        *,
        device: str = "cpu",
        label: str = "",
        priority: int = 0,
        constraints: Mapping[str, Attr | Iterable[Attr]] | None = None,
        provider: str = "",
        lowers: bool = False,
    ) -> None:
        """Register a kernel; BadRegistration if it does not match its op, or clashes with another kernel."""
        from tfport.runtime.custom.custom_kernel import custom_kernel

        provider = with_package(provider or location_of(function))
        definition = self.definition_of(op) or known_ops().get(op)
        if definition is None:
            raise BadRegistration(f"{provider}: a kernel of the unknown op {op}; define it with `op` first")
        new_kernel = custom_kernel(
            definition,
            function,
            device=device,
            label=label,
            priority=priority,
            constraints=constraints or {},
            provider=provider,
            lowers=lowers,
        )
        with self.lock:
            table = self.lowerings if lowers else self.kernels
            existing = table.get(op, [])
            rivals = [kernel for kernel in _custom(existing) if kernel.overlaps(new_kernel)]
            if rival := next((kernel for kernel in rivals if not new_kernel.is_again(kernel)), None):
                raise BadRegistration(
                    f"{provider}: this kernel of {op} clashes with that of {rival.provider}; "
                    "set a `priority` to prefer one"
                )
            kept = [kernel for kernel in existing if kernel not in rivals]
            table[op] = sorted([*kept, new_kernel], key=lambda kernel: -getattr(kernel, "priority", 0))

    def mismatches(self, op: str, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> list[str]:
        definition = self.definition_of(op)
        if definition is None:
            return []
        from tfport.runtime.mismatch import mismatches

        return list(mismatches(definition, attrs, inputs))

    def why_missing(self, op: str, attrs: Mapping[str, Attr], why: str) -> str | None:
        if self.definition_of(op) is None:
            return None
        from tfport.runtime.custom.missing_kernel import why_missing

        return why_missing([*self.kernels_of(op), *self.lowerings_of(op)], attrs, why)

    def provider_of(self, op: str) -> str | None:
        """The provider of an op's definition, or for TensorFlow's ops of its first kernel; None if none."""
        for registry in self.registries():
            if op in registry.providers:
                return registry.providers[op]
            declared = [*registry.lowerings.get(op, ()), *registry.kernels.get(op, ())]
            if provider := next((kernel.provider for kernel in _custom(declared)), None):
                return provider
        return None

    def table(self) -> list[RegisteredOp]:
        """Everything registered here and in the registries below, by name, except tfport's own ops."""
        chain = list(self.registries())
        names = {
            op for registry in chain for op in (*registry.definitions, *registry.kernels, *registry.lowerings)
        }
        return [self._registered(op) for op in sorted(names)]

    def _registered(self, op: str) -> RegisteredOp:
        declared = [*self.lowerings_of(op), *self.kernels_of(op)]
        return RegisteredOp(op, self.definition_of(op), self.provider_of(op) or "", tuple(_custom(declared)))

    def registries(self) -> Iterator[Registry]:
        """This registry and those below it, except tfport's own."""
        return (layer for layer in self.chain() if isinstance(layer, Registry))

    def forget(self, package: str) -> None:
        """Remove what a package registered."""
        mine = f"{package}: "
        with self.lock:
            for op in [op for op, provider in self.providers.items() if provider.startswith(mine)]:
                for table in (self.definitions, self.providers, self.shapes, self.kernels, self.lowerings):
                    table.pop(op, None)
            for declared in (self.kernels, self.lowerings):
                for op, some in list(declared.items()):
                    declared[op] = [
                        kernel for kernel in some if not getattr(kernel, "provider", "").startswith(mine)
                    ]

    def ready(self) -> Registry:
        """This registry, after the entry points of installed packages have been loaded."""
        if any(registry is PROCESS_WIDE for registry in self.registries()):
            from tfport.runtime.custom.entry_points import load_entry_points

            load_entry_points(PROCESS_WIDE)
        return self


def _custom(kernels: Iterable[Implementation]) -> Iterator[CustomKernel]:
    """Those that are custom kernels."""
    if kernels:
        from tfport.runtime.custom.custom_kernel import CustomKernel

        yield from (kernel for kernel in kernels if isinstance(kernel, CustomKernel))


PROCESS_WIDE = Registry(BUILT_IN)
"""The registry of `tfport.op` and `tfport.kernel`."""
op, kernel = PROCESS_WIDE.op, PROCESS_WIDE.kernel


def ready(registry: Registry | None) -> Registry:
    """The given registry, or the process-wide one, with the entry points of packages loaded."""
    if registry is not None and not isinstance(registry, Registry):
        raise Error(f"registry must be a tfport.Registry, got {type(registry).__name__}")
    return (registry or PROCESS_WIDE).ready()


def definitions_with(registry: Registry) -> OpDefs:
    """The definitions of TensorFlow's ops and of a registry, for reading models."""
    chain = [each.definitions for each in registry.registries()]
    own = {name: definition for definitions in reversed(chain) for name, definition in definitions.items()}
    return _Layered(own) if own else known_ops()


class _Layered(Mapping[str, OpDef]):
    """Custom definitions, then the recorded ones of TensorFlow."""

    def __init__(self, own: Mapping[str, OpDef]) -> None:
        self._own = own

    def __getitem__(self, op: str) -> OpDef:
        definition = self._own.get(op)
        return definition if definition is not None else known_ops()[op]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(known_ops()), **self._own})

    def __len__(self) -> int:
        return sum(1 for _ in self)
