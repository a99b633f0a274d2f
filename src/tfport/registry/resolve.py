"""Which kernel would run a node, or why none would.

`Resolver.unresolved(usage, registry, devices, producer)` asks in TensorFlow's order:
op, deprecation, attributes, inputs, kernel. The answer is empty, or every question that
failed. Answers are cached by definition and by set of kernels, which many builds share:
a hundred builds cost little more than one.
When a loader would notice is decided elsewhere: `check.loaders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.dataclass import replace
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.op_signature import OpSignature
from tfport.graph.usage import LABEL, Usage
from tfport.registry.attr_upgrade import upgraded_attrs
from tfport.registry.attributes import unresolved_attributes
from tfport.registry.inputs import unresolved_inputs
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, is_whole
from tfport.registry.unresolved import Question, Unresolved

Answers = tuple[Unresolved, ...]
ANY_DEVICE = "DEFAULT"
_UNPLACED = frozenset((Question.MISSING_ATTR, Question.ATTR_TYPE))
UNREGISTERED = (Unresolved(Question.OP),)


class Resolver:
    """Resolves the usages of one program."""

    def __init__(self) -> None:
        self._signatures: dict[int, tuple[OpDef, OpSignature]] = {}
        self._fits: dict[tuple[int, int], Answers] = {}
        self._kernels: dict[tuple[object, ...], Answers] = {}
        self._answers: dict[tuple[object, ...], Answers] = {}
        self._alive: list[object] = []
        """The registries and kernel lists of cached answers; while they live, their `id` is unique."""

    def unresolved(
        self, usage: Usage, registry: OpRegistry, devices: Sequence[str], producer: int
    ) -> Answers:
        """Everything that keeps a runtime with these devices from running the nodes of a usage."""
        key = (id(usage), id(registry), producer, *devices)
        answers = self._answers.get(key)
        if answers is None:
            self._alive.append(registry)
            answers = self._answers[key] = self._unresolved(usage, registry, devices, producer)
        return answers

    def _unresolved(
        self, usage: Usage, registry: OpRegistry, devices: Sequence[str], producer: int
    ) -> Answers:
        provider = registry.provider(usage.op)
        definition = provider.definition(usage.op) if provider is not None else None
        if provider is None or definition is None:
            return UNREGISTERED
        if not is_whole(provider, usage.op):
            return ()  # only its name is known
        answers = self._structure(usage, definition, registry)
        if definition.HasField("deprecation"):
            answers = (*_deprecated(definition, producer), *answers)
        if not _UNPLACED.isdisjoint(answer.question for answer in answers):
            return answers  # its attributes do not determine the kernel
        return answers + self._placement(usage, definition, registry, devices)

    def _structure(self, usage: Usage, definition: OpDef, registry: OpRegistry) -> Answers:
        key = id(usage), id(definition)
        if key not in self._fits:
            signature = self._signature(definition)
            attrs = self._attrs(usage, definition, registry)
            self._fits[key] = (
                *unresolved_attributes(attrs, definition),
                *unresolved_inputs(usage.inputs, attrs, signature),
            )
        return self._fits[key]

    def _attrs(self, usage: Usage, definition: OpDef, registry: OpRegistry) -> Mapping[str, Attr]:
        """The attributes of a usage as the runtime reads them."""
        if not registry.accepts_older_attrs(usage.op):
            return usage.attrs
        return upgraded_attrs(usage.attrs, self._signature(definition))

    def _signature(self, definition: OpDef) -> OpSignature:
        if id(definition) not in self._signatures:
            self._signatures[id(definition)] = definition, OpSignature(definition)
        return self._signatures[id(definition)][1]

    def _placement(
        self, usage: Usage, definition: OpDef, registry: OpRegistry, devices: Sequence[str]
    ) -> Answers:
        lists = [source.kernels(usage.op) for source in registry.sources]
        key = (id(usage), id(definition), *devices, *map(id, lists))
        if key not in self._kernels:
            self._alive.append(lists)
            kernels = lists[0] if len(lists) == 1 else [kernel for some in lists for kernel in some]
            attrs = self._attrs(usage, definition, registry)
            attrs = self._signature(definition).with_defaults(attrs)
            self._kernels[key] = unresolved_kernel(attrs, kernels, devices)
        return self._kernels[key]


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
