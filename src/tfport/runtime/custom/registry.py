"""Ops and kernels of one's own: a registry is a value, and adds to the one that it stands on.

    registry = Registry()                       # on the process-wide one
    @registry.op("MyMul: (x: T, y: T) -> z: T; T: {float, double}")
    @registry.kernel("MyMul")
    def my_mul(x, y): return x * y

`tfport.op` and `tfport.kernel` are those of `PROCESS_WIDE`, which every session uses that is
given no other. What a registry has comes before what it stands on; one that defines an op
itself starts anew for it. Nothing here is taken back: a session plans with what there is when
it is first asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tfport.atlas.known_ops import known_ops
from tfport.errors import BadRegistration, Error
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.signature import OpDefs
from tfport.runtime import mismatch
from tfport.runtime.custom.custom_kernel import CustomKernel, custom_kernel
from tfport.runtime.custom.missing_kernel import why_missing
from tfport.runtime.custom.parse_definition import parse_op_definition
from tfport.runtime.custom.shape_functions import ShapeFunction, shape_rule
from tfport.runtime.custom.source_location import here, place_of, with_package
from tfport.runtime.implementations import BUILT_IN, OpImplementations

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RegisteredOp:
    """One op of one's own, or one of TensorFlow's with kernels of one's own."""

    op: str
    definition: OpDef | None
    """None where it is TensorFlow's."""
    provider: str
    kernels: tuple[CustomKernel, ...]


class Registry(OpImplementations):
    """Definitions, kernels and lowerings by op; may be given to a session and asked by any thread."""

    def __init__(self, base: OpImplementations | None = None) -> None:
        super().__init__(PROCESS_WIDE if base is None else base)
        self.providers: dict[str, str] = {}
        self.lock = threading.RLock()

    def op(
        self, signature: str, *, shape: ShapeFunction | None = None, override: bool = False
    ) -> Callable[[F], F]:
        """Define an op; what it decorates is handed on as it is. `override`: it may be defined already."""
        self.define(parse_op_definition(signature), here(), shape=shape, override=override)
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
        """Declare the function below as a kernel of an op, for some values of its attributes."""

        def declare(function: F) -> F:
            self.add_kernel(
                op,
                function,
                device=device,
                label=label,
                priority=priority,
                constraints=constraints,
                provider=place_of(function),
                lowers=lowers,
            )
            return function

        return declare

    def define(
        self, op_def: OpDef, provider: str, *, shape: ShapeFunction | None = None, override: bool = False
    ) -> None:
        """Register an op; BadRegistration where its name is taken."""
        op, provider = op_def.name, with_package(provider)
        rule = shape_rule(op_def, shape, provider) if shape is not None else None
        with self.lock:
            before = self.definitions.get(op)
            again = before == op_def and self.providers[op] == provider  # the same line was run again
            if before is not None and not (override or again):
                raise BadRegistration(
                    f"{provider}: op {op} is registered already, by {self.providers[op]}; "
                    "`override=True` replaces it"
                )
            if not override and (releases := known_ops().releases(op)) is not None:
                raise BadRegistration(
                    f"{provider}: op {op} is TensorFlow's, since {releases[0]}; `override=True` replaces it"
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
        """Register a kernel; BadRegistration where it does not fit its op, or one is there for the same."""
        provider = with_package(provider or place_of(function))
        definition = self.definition_of(op) or known_ops().get(op)
        if definition is None:
            raise BadRegistration(f"{provider}: a kernel of {op}, which nobody has defined; `op` comes first")
        made = custom_kernel(
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
            there = table.get(op, [])
            rivals = [
                kernel for kernel in there if isinstance(kernel, CustomKernel) and kernel.overlaps(made)
            ]
            if rival := next((kernel for kernel in rivals if not made.is_again(kernel)), None):
                raise BadRegistration(
                    f"{provider}: a kernel of {op} for the same as that of {rival.provider}; "
                    "a `priority` says which is taken"
                )
            kept = [kernel for kernel in there if kernel not in rivals]
            table[op] = sorted([*kept, made], key=lambda kernel: -getattr(kernel, "priority", 0))

    def mismatches(self, op: str, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> list[str]:
        definition = self.definition_of(op)
        return [] if definition is None else list(mismatch.mismatches(definition, attrs, inputs))

    def why_missing(self, op: str, attrs: Mapping[str, Attr], why: str) -> str | None:
        if self.definition_of(op) is None:
            return None
        return why_missing([*self.kernels_of(op), *self.lowerings_of(op)], attrs, why)

    def provider_of(self, op: str) -> str | None:
        """Who defines an op; for one of TensorFlow's who brings its first kernel; None where nobody did."""
        for registry in self.registries():
            if op in registry.providers:
                return registry.providers[op]
            declared = [*registry.lowerings.get(op, ()), *registry.kernels.get(op, ())]
            if provider := next((k.provider for k in declared if isinstance(k, CustomKernel)), None):
                return provider
        return None

    def table(self) -> list[RegisteredOp]:
        """All that was registered here and below, by name; tfport's own is not listed."""
        chain = list(self.registries())
        names = {
            op for registry in chain for op in (*registry.definitions, *registry.kernels, *registry.lowerings)
        }
        return [self._registered(op) for op in sorted(names)]

    def _registered(self, op: str) -> RegisteredOp:
        declared = [*self.lowerings_of(op), *self.kernels_of(op)]
        kernels = tuple(kernel for kernel in declared if isinstance(kernel, CustomKernel))
        return RegisteredOp(op, self.definition_of(op), self.provider_of(op) or "", kernels)

    def registries(self) -> Iterator[Registry]:
        """This one and those that it stands on, tfport's own left out."""
        return (layer for layer in self.chain() if isinstance(layer, Registry))

    def forget(self, package: str) -> None:
        """Take back what a package registered."""
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
        """Itself, once what installed packages bring to the process-wide registry is there."""
        if any(registry is PROCESS_WIDE for registry in self.registries()):
            from tfport.runtime.custom.entry_points import load_entry_points

            load_entry_points(PROCESS_WIDE)
        return self


PROCESS_WIDE = Registry(BUILT_IN)
"""What `tfport.op` and `tfport.kernel` add to."""
op, kernel = PROCESS_WIDE.op, PROCESS_WIDE.kernel


def ready(registry: Registry | None) -> Registry:
    """The registry that a caller gives, or the process-wide one, with all that packages bring."""
    if registry is not None and not isinstance(registry, Registry):
        raise Error(f"a registry of {type(registry).__name__}; expected a tfport.Registry")
    return (registry or PROCESS_WIDE).ready()


def definitions_with(registry: Registry) -> OpDefs:
    """TensorFlow's ops and a registry's, for those who read models."""
    chain = [each.definitions for each in registry.registries()]
    own = {name: definition for definitions in reversed(chain) for name, definition in definitions.items()}
    return _Layered(own) if own else known_ops()


class _Layered(Mapping[str, OpDef]):
    """A registry's definitions before those that are recorded."""

    def __init__(self, own: Mapping[str, OpDef]) -> None:
        self._own = own

    def __getitem__(self, op: str) -> OpDef:
        definition = self._own.get(op)
        return definition if definition is not None else known_ops()[op]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(known_ops()), **self._own})

    def __len__(self) -> int:
        return sum(1 for _ in self)
