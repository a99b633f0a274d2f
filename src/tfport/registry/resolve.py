"""Which kernel would run a node, or why none would.

`Resolver.unresolved(usage, registry, devices, producer)` asks in TensorFlow's order:
op, deprecation, attributes, inputs, kernel. The answer is empty, or every question that
failed. Answers are cached by what a registry says about the op, which many builds share: a hundred
builds cost little more than one.
When a loader would notice is decided elsewhere: `check.loaders`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, FunctionRef, Placeholder, decode
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.op_signature import OpSignature
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.graph.usage import LABEL, Usage
from tfport.registry.attr_upgrade import upgraded_attrs
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, accepts_older_attrs, is_whole
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass, replace

Answers = tuple[Unresolved, ...]
ANY_DEVICE = "DEFAULT"
_UNPLACED = frozenset((Question.MISSING_ATTR, Question.ATTR_TYPE))
UNREGISTERED = (Unresolved(Question.OP),)


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """What a registry says about an op; one object for all registries that say the same."""

    definition: OpDef
    signature: OpSignature
    accepts_older_attrs: bool
    is_whole: bool
    kernels: Sequence[Kernel]


class Resolver:
    """Resolves the usages of one program."""

    def __init__(self) -> None:
        self._registrations: dict[tuple[object, ...], Registration | None] = {}
        self._same: dict[tuple[object, ...], Registration] = {}
        self._structures: dict[tuple[object, ...], tuple[Mapping[str, Attr], Answers]] = {}
        self._answers: dict[tuple[object, ...], Answers] = {}
        self._alive: list[object] = []
        """The registries and kernel lists of cached answers; while they live, their `id` is unique."""

    def unresolved(
        self, usage: Usage, registry: OpRegistry, devices: Sequence[str], producer: int
    ) -> Answers:
        """Everything that keeps a runtime with these devices from running the nodes of a usage."""
        registration = self.registration(usage.op, registry)
        if registration is None:
            return UNREGISTERED
        key = (id(usage), id(registration), producer, *devices)
        answers = self._answers.get(key)
        if answers is None:
            answers = self._answers[key] = self._unresolved(usage, registration, devices, producer)
        return answers

    def registration(self, op: str, registry: OpRegistry) -> Registration | None:
        """What a registry says about an op; None if it is not registered."""
        where = (op, registry.identity)
        if where not in self._registrations:
            self._alive.append(registry)
            self._registrations[where] = self._read(op, registry)
        return self._registrations[where]

    def _read(self, op: str, registry: OpRegistry) -> Registration | None:
        provider = registry.provider(op)
        definition = provider.definition(op) if provider is not None else None
        if provider is None or definition is None:
            return None
        lists = [source.kernels(op) for source in registry.sources]
        older, whole = accepts_older_attrs(provider), is_whole(provider, op)
        key = (id(definition), older, whole, *map(id, lists))
        if key not in self._same:
            self._alive.append((definition, lists))
            kernels = lists[0] if len(lists) == 1 else [kernel for some in lists for kernel in some]
            self._same[key] = Registration(definition, OpSignature(definition), older, whole, kernels)
        return self._same[key]

    def _unresolved(
        self, usage: Usage, known: Registration, devices: Sequence[str], producer: int
    ) -> Answers:
        if not known.is_whole:
            return ()  # only its name is known
        attrs, answers = self._structure(usage, known)
        if known.definition.HasField("deprecation"):
            answers = (*_deprecated(known.definition, producer), *answers)
        if not _UNPLACED.isdisjoint(answer.question for answer in answers):
            return answers  # its attributes do not determine the kernel
        return answers + unresolved_kernel(known.signature.with_defaults(attrs), known.kernels, devices)

    def _structure(self, usage: Usage, known: Registration) -> tuple[Mapping[str, Attr], Answers]:
        """The attributes of a usage as the runtime reads them, and what is wrong with them and the inputs."""
        key = id(usage), id(known.definition), known.accepts_older_attrs
        if key not in self._structures:
            signature = known.signature
            attrs = upgraded_attrs(usage.attrs, signature) if known.accepts_older_attrs else usage.attrs
            self._structures[key] = (
                attrs,
                (
                    *unresolved_attributes(attrs, known.definition),
                    *unresolved_inputs(usage.inputs, attrs, signature),
                ),
            )
        return self._structures[key]


def _deprecated(definition: OpDef, producer: int) -> Answers:
    deprecation = definition.deprecation
    outdated = Unresolved(Question.OUTDATED, actual=deprecation.version, expected=deprecation.explanation)
    is_removed = producer >= deprecation.version
    return (replace(outdated, question=Question.DEPRECATED),) if is_removed else (outdated,)


def unresolved_kernel(
    attrs: Mapping[str, Attr], kernels: Sequence[Kernel], devices: Sequence[str]
) -> Answers:
    """Why none of the kernels runs a node with these attributes on any of the devices."""
    on_devices = [kernel for kernel in kernels if kernel.device in (*devices, ANY_DEVICE)]
    label = attrs.get(LABEL, "")
    if any(kernel.label == label and supports_types(kernel, attrs) for kernel in on_devices):
        return ()
    question = Question.KERNEL_TYPE if on_devices else Question.KERNEL
    return (Unresolved(question, kernels=tuple(kernels)),)


def supports_types(kernel: Kernel, attrs: Mapping[str, Attr]) -> bool:
    """Whether a kernel supports the types of the attributes; types that a caller decides are supported."""
    for name, allowed in kernel.constraints.items():
        value = attrs.get(name)
        for item in value if isinstance(value, list) else (value,):
            if not isinstance(item, Placeholder) and item not in allowed:
                return False
    return True


def usable_kernels(attrs: Mapping[str, Attr], kernels: Sequence[Kernel], device: str) -> list[Kernel]:
    """The kernels that would run on a device: its own before those for any, of the highest priority."""
    label = attrs.get(LABEL, "")
    usable = [
        k
        for k in kernels
        if k.device in (device, ANY_DEVICE) and k.label == label and supports_types(k, attrs)
    ]
    own = [kernel for kernel in usable if kernel.device == device] or usable
    best = max((kernel.priority for kernel in own), default=0)
    return [kernel for kernel in own if kernel.priority == best]


# Attributes against the definition of an op, in TensorFlow's order (ValidateNodeDef).

_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str | bytes),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "type": lambda value: isinstance(value, DType),
    "shape": lambda value: isinstance(value, Shape),
    "tensor": lambda value: isinstance(value, Tensor),
    "func": lambda value: isinstance(value, FunctionRef),
}


def unresolved_attributes(attrs: Mapping[str, Attr], definition: OpDef) -> Iterator[Unresolved]:
    """Everything in the attributes that the definition does not allow."""
    declared = {attr.name: attr for attr in definition.attr}
    structural = {
        name
        for arg in (*definition.input_arg, *definition.output_arg)
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    for name, value in sorted(attrs.items()):
        if name.startswith("_") or isinstance(value, Placeholder):
            continue
        if name not in declared:
            yield Unresolved(Question.UNKNOWN_ATTR, name, value)
        elif answer := _unresolved(declared[name], value):
            unbuildable = answer.question is Question.ATTR_TYPE or _is_negative(value)
            yield replace(answer, structural=name in structural and unbuildable)
    for name, attr in declared.items():
        if name not in attrs and not attr.HasField("default_value"):
            yield Unresolved(Question.MISSING_ATTR, name, expected=attr.type)


def _is_negative(value: Attr) -> bool:
    return isinstance(value, int) and value < 0


def _unresolved(attr: OpDef.AttrDef, value: Attr) -> Unresolved | None:
    if value is None:  # to TensorFlow an attribute without a value is absent
        missing = not attr.HasField("default_value")
        return Unresolved(Question.MISSING_ATTR, attr.name, expected=attr.type) if missing else None
    if not _is(attr.type, value):
        return Unresolved(Question.ATTR_TYPE, attr.name, kind_of(value), attr.type)
    size = len(value) if isinstance(value, list) else value
    if attr.has_minimum and isinstance(size, int) and size < attr.minimum:
        return Unresolved(Question.ATTR_MINIMUM, attr.name, value, attr.minimum)
    if attr.HasField("allowed_values"):
        allowed = decode(attr.allowed_values)
        for item in value if isinstance(value, list) else [value]:
            if item not in allowed:
                return Unresolved(Question.ATTR_VALUE, attr.name, item, tuple(allowed))
    return None


def _is(kind: str, value: Attr) -> bool:
    if kind.startswith("list("):
        fits = _KINDS.get(kind[5:-1])
        return isinstance(value, list) and (not value or (fits is not None and all(map(fits, value))))
    return kind in _KINDS and _KINDS[kind](value)


def kind_of(value: Attr) -> str:
    """TensorFlow's name for the type of an attribute: `int`, `list(type)`."""
    if isinstance(value, list):
        return f"list({kind_of(value[0])})" if value else "list"
    return next((name for name, fits in _KINDS.items() if fits(value)), "none")


# Inputs against the definition of an op, in number and in types.


def unresolved_inputs(
    inputs: Sequence[DType], attrs: Mapping[str, Attr], signature: OpSignature
) -> Iterator[Unresolved]:
    """What is wrong with the inputs; nothing where the attributes do not determine the expected types."""
    expected = expected_types(attrs, signature)
    if expected is None:
        return
    if len(expected) != len(inputs):
        question = Question.INPUTS_FEW if len(inputs) < len(expected) else Question.INPUTS_MANY
        yield Unresolved(question, actual=len(inputs), expected=tuple(expected))
        return
    if tuple(inputs) == tuple(expected):
        return
    for index, (actual, wanted) in enumerate(zip(inputs, expected, strict=True)):
        if INVALID not in (actual, wanted) and not _compatible(actual, wanted):
            yield Unresolved(Question.INPUT_TYPE, actual=actual, expected=wanted, index=index)


def expected_types(attrs: Mapping[str, Attr], signature: OpSignature) -> list[DType] | None:
    """The types of all inputs in order; None where attributes are missing or decided by a caller."""
    known = signature.with_defaults(attrs)
    types: list[DType] = []
    for arg in signature.inputs:
        if any(isinstance(known.get(a), Placeholder) for a in (arg.number_attr, arg.list_attr) if a):
            return None
        try:
            count = arg.count(known)
        except (KeyError, TypeError):
            return None
        types += arg.types(count, known)
    return types


def _compatible(actual: DType, wanted: DType) -> bool:
    """Whether an input has the wanted type; a reference can be read as a value."""
    return actual == wanted or (actual.is_ref and not wanted.is_ref and actual.base == wanted)
