"""Which kernel would run a node, or why none would.

`Resolver.unresolved(usage, registry, devices, producer)` asks in TensorFlow's order:
op, deprecation, attributes, inputs, kernel. The answer is empty, or every question that
failed. Answers are cached by what a registry says about the op, which many builds share: a hundred
builds cost little more than one.
When a loader would notice is decided elsewhere: `check.loaders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.op_signature import OpSignature
from tfport.graph.usage import LABEL, Usage
from tfport.registry.attr_upgrade import upgraded_attrs
from tfport.registry.attributes import unresolved_attributes
from tfport.registry.inputs import unresolved_inputs
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
