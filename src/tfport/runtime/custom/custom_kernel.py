"""Custom kernels: functions that are checked against the definition of their op when declared.

A host kernel takes the op's inputs by position, with the names of the op (and a trailing `_` if the
name is a Python keyword), and its attributes by keyword; it may name `context`. A lowering takes `b`
first. An attribute that does not follow from the inputs must be named, or taken with `**`.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfport.errors import BadRegistration
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import DType
from tfport.graph.op_signature import OpSignature
from tfport.graph.usage import LABEL
from tfport.registry.kernels import Kernel
from tfport.runtime.host import inferred_attrs
from tfport.runtime.lower import CONTEXT, Implementation
from tfport.startup.dataclass import dataclass

BUILDER = "b"
CPU = "CPU"


@dataclass(frozen=True, slots=True)
class CustomKernel(Implementation):
    """A kernel or lowering of a custom registry."""

    device: str = CPU
    label: str = ""
    priority: int = 0
    lowers: bool = False
    provider: str = ""

    def takes(self, attrs: Mapping[str, Attr]) -> bool:
        """Whether it supports these attributes, and runs on this device."""
        fits = Implementation.takes(self, attrs)  # `super()` does not work in a dataclass with slots
        return fits and self.device == CPU and attrs.get(LABEL, "") == self.label

    @property
    def rank(self) -> tuple[object, ...]:
        """Kernels that differ in one of these never overlap, whatever their attributes."""
        return self.device, self.label, self.priority, self.lowers

    def as_kernel(self) -> Kernel:
        """As a `Kernel` of the registry layer."""
        return Kernel(self.op, self.device, dict(self.constraints), label=self.label, priority=self.priority)

    def overlaps(self, other: CustomKernel) -> bool:
        """Whether a node may match both, with the same priority."""
        shared = self.constraints.keys() & other.constraints.keys()
        return self.rank == other.rank and all(
            set(self.constraints[name]) & set(other.constraints[name]) for name in shared
        )

    def is_again(self, other: CustomKernel) -> bool:
        """Whether the same declaration ran twice."""
        return (self.provider, self.constraints) == (other.provider, other.constraints)


def custom_kernel(
    definition: OpDef,
    function: Callable[..., Any],
    *,
    device: str,
    label: str,
    priority: int,
    constraints: Mapping[str, Attr | Iterable[Attr]],
    provider: str,
    lowers: bool,
) -> CustomKernel:
    """The kernel; BadRegistration if the function does not match the op."""
    where = f"{provider}: the {'lowering' if lowers else 'kernel'} of {definition.name}"
    if lowers and definition.is_stateful:
        raise BadRegistration(
            f"{where}: a stateful op cannot be lowered, it runs on the host; expected a kernel"
        )
    named, wants_context = _parameters(function, OpSignature(definition), where, lowers=lowers)
    return CustomKernel(
        definition.name,
        function,
        named,
        {name: _allowed(definition, name, values, where) for name, values in constraints.items()},
        wants_context=wants_context,
        strict=True,
        device=device.upper(),
        label=label,
        priority=priority,
        lowers=lowers,
        provider=provider,
    )


def _parameters(
    function: Callable[..., Any], signature: OpSignature, where: str, *, lowers: bool
) -> tuple[frozenset[str], bool]:
    """The attributes that a function takes, and whether it takes the context."""
    if not callable(function):
        raise BadRegistration(f"{where} is {type(function).__name__}; expected a function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise BadRegistration(f"{where} is a coroutine or a generator; expected a plain function")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # a C function without a signature
        return _named_attributes([], signature, where), False
    _inputs_fit(parameters, signature, where, lowers=lowers)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return frozenset(signature.attr_types), False
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    names = [p.name for p in keywords if p.default is p.empty or p.name in (*signature.attr_types, CONTEXT)]
    wants_context = CONTEXT in names and not lowers
    return _named_attributes([n for n in names if n != CONTEXT or lowers], signature, where), wants_context


def _inputs_fit(
    parameters: Iterable[inspect.Parameter], signature: OpSignature, where: str, *, lowers: bool
) -> None:
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    wanted = [BUILDER] * lowers + [_python_name(arg.name) for arg in signature.inputs]
    names = [w if p.kind is p.POSITIONAL_ONLY else p.name for p, w in zip(positional, wanted, strict=False)]
    required = [p.name for p in positional if p.default is p.empty]
    if names != wanted or len(required) > len(wanted):
        actual = ", ".join(p.name for p in positional)
        attributes = [p.name for p in positional[len(wanted) :] if p.name in (*signature.attr_types, CONTEXT)]
        hint = f"; attributes are keyword-only: `*, {', '.join(attributes)}`" if attributes else ""
        raise BadRegistration(f"{where} takes ({actual}); expected the inputs ({', '.join(wanted)}){hint}")


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _named_attributes(names: Iterable[str], signature: OpSignature, where: str) -> frozenset[str]:
    attrs = signature.attr_types
    if unknown := next((name for name in names if name not in attrs), None):
        existing = ", ".join(attrs) or "none"
        raise BadRegistration(f"{where} takes `{unknown}`; the attributes of the op are {existing}")
    missing = [n for n in attrs if n not in names and n not in inferred_attrs(signature)]
    if missing:
        wanted = ", ".join(missing)
        raise BadRegistration(f"{where} must take the attribute {wanted}; add `*, {wanted}` at the end")
    return frozenset(names)


def _allowed(definition: OpDef, name: str, values: Attr | Iterable[Attr], where: str) -> tuple[Attr, ...]:
    """The values of an attribute that a kernel supports."""
    attr = next((attr for attr in definition.attr if attr.name == name), None)
    if attr is None:
        existing = ", ".join(attr.name for attr in definition.attr) or "none"
        raise BadRegistration(f"{where} restricts `{name}`; the attributes of the op are {existing}")
    listed = _listed(values)
    is_type = attr.type in ("type", "list(type)")
    supported = tuple(_type(value, name, where) if is_type else value for value in listed)
    if attr.HasField("allowed_values"):
        allowed = decode(attr.allowed_values)
        if other := next((value for value in supported if value not in allowed), None):
            takes = ", ".join(map(str, allowed))
            raise BadRegistration(f"{where} is for {name}={other}; the op allows {takes}")
    return supported


def _listed(values: Any) -> list[Any]:
    is_single = isinstance(values, str | bytes | DType | type) or not isinstance(values, Iterable)
    return [values] if is_single else list(values)


def _type(value: Any, name: str, where: str) -> DType:
    """A type from its name or NumPy class."""
    if isinstance(value, DType):
        return value
    text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    try:
        return DType.parse({"bytes": "string", "object_": "string", "str": "string"}.get(text, text))
    except KeyError:
        raise BadRegistration(f"{where} is for {name}={text}, which is not an element type") from None
