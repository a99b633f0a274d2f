"""A model prepared for checking against many targets: what does not depend on a target is computed once.

`unresolved_usage` says what keeps a target from running the nodes of one usage, in any graph;
`check.loaders` decides when a loader notices it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.atlas.op_definitions import value_text
from tfport.atlas.target import OURS, Target
from tfport.check.compiled.nodes import CompiledFunctions
from tfport.check.devices import (
    CPU,
    GPU,
    has_kernel,
    is_local,
    is_present,
    is_valid_name,
    kind_of_device,
    kinds_of_devices,
    requested_kind,
)
from tfport.check.graph_optimizer import DeviceRequests
from tfport.check.kernel_differences import may_answer_otherwise, other_answers
from tfport.check.kernel_limits import has_limits, kernel_limits
from tfport.check.lite.reach import entry_points
from tfport.check.node_contexts import ALL, LOWER, NodeContexts, NodesByContext
from tfport.check.release_quirks import (
    cannot_lower,
    fills_defaults_in_functions,
    has_xla_devices,
    knows_type,
    newer_types,
    since,
)
from tfport.check.xla_modules import XLA_PROGRAM, module_limits
from tfport.errors import Error
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.inline import is_engine_with_function
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import CALLS
from tfport.graph.reach import called_by, every_node, needed_by
from tfport.graph.usage import LABEL, Usage, usages
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from tfport.atlas.keras_releases import KerasObject

T = TypeVar("T")


class CheckedModel:
    """A model, and the requested signatures or outputs."""

    def __init__(
        self,
        model: Model,
        signatures: Iterable[str] | None = None,
        *,
        fetches: Sequence[str] = (),
        feeds: Sequence[str] = (),
        checksums: bool = False,
        custom: Mapping[str, KerasObject] = MappingProxyType({}),
    ) -> None:
        if not len(model.graph) and model.keras is None and model.lite is None:
            raise Error(f"{model.where}: {model.format.name} without a graph, so there is nothing to check")
        self.model = model
        self.outputs = graph_outputs(model, fetches, feeds)
        """What is fetched instead of a signature: what the user names, or a guess if there is none."""
        self.signatures = _requested(model, signatures, fetches)
        self.contexts = NodeContexts(model, self.outputs)
        self.checksums = checksums
        """Whether to read all weights and compare their checksums."""
        self.custom = custom
        """The classes and functions that the program registers with Keras, by name."""
        self._resolver = Resolver()
        self._unresolved: dict[Target, list[tuple[Usage, Unresolved]]] = {}
        self._contexts: dict[Usage, NodesByContext] = {}
        self._results: dict[tuple[object, ...], list[Any]] = {}
        self._known: dict[Target, dict[str, object]] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._by_registration: dict[tuple[object, ...], list[Any]] = {}

    def with_signature(self, signature: str) -> CheckedModel:
        """The same model and cached results, for one requested signature."""
        alone = copy(self)
        alone.signatures = frozenset([signature])
        return alone

    def once(self, function: Callable[..., Iterable[T]], *arguments: object) -> list[T]:
        """The result of a function on this model, cached for these arguments."""
        key = (function, *arguments)
        if key not in self._results:
            self._results[key] = list(function(self, *arguments))
        return self._results[key]

    def needed_nodes(self) -> list[Node]:
        """The nodes that the requested signatures need, with those of the functions that they call."""
        signatures = [s for name, s in self.model.signatures.items() if name in self.signatures]
        if self.outputs is not None:
            signatures.append(self.outputs.signature)
        ends = [value.node for signature in signatures for value in self.model.ends_of(signature)]
        fed = [value for signature in signatures for value in self.model.starts_of(signature)]
        needed = needed_by(ends, fed)
        functions = called_by(needed)
        inside = [node for function in functions.values() for node in function]
        return [node for node in (*needed, *inside) if node.op not in functions]

    @cached_property
    def usages(self) -> Sequence[Usage]:
        functions = self.model.graph.library.functions
        return [usage for usage in self._usages_and_calls if usage.op not in functions]

    @cached_property
    def _usages_and_calls(self) -> Sequence[Usage]:
        """The usages of ops, and of functions that are called by name."""
        return usages(every_node(self.model.graph))

    @cached_property
    def producer(self) -> int:
        """The version of the GraphDef."""
        rest = self.model.graph.rest
        return rest.versions.producer or rest.version

    def unresolved(self, target: Target, *, soft_placement: bool) -> Iterator[tuple[Usage, Unresolved]]:
        """Everything that a target does not resolve; with soft placement a node may run on another device."""
        if target not in self._unresolved:
            self._unresolved = {
                target: list(self._compute_unresolved(target))
            }  # cached for the other loaders
        yield from self._unresolved[target]
        if self._placed and not soft_placement:
            for usage in self._placed:
                for answer in self._shared(self._wrong_device, usage, target):
                    yield usage, answer

    def _compute_unresolved(self, target: Target) -> Iterator[tuple[Usage, Unresolved]]:
        for usage in self.usages:
            alike = usage in self._alike_in_releases
            answers = self._shared(self._answers, usage, target) if alike else self._answers(usage, target)
            yield from ((usage, answer) for answer in answers)

    @cached_property
    def _alike_in_releases(self) -> set[Usage]:
        """The usages for which only what a release registers matters, and how it calls functions."""
        return {u for u in self.usages if u not in self._newer_types and not depends_on_release(u.op)}

    def _shared(
        self, compute: Callable[[Usage, Target], Iterable[T]], usage: Usage, target: Target
    ) -> list[T]:
        """What is computed from a usage and what a target registers for it; cached for all that do so."""
        known = self._known.get(target) or self._known.setdefault(target, self._registered_by(target))
        key = (compute.__name__, usage, known[usage.op], known[""])
        answers = self._by_registration.get(key)
        if answers is None:
            answers = self._by_registration[key] = list(compute(usage, target))
        return answers

    def _registered_by(self, target: Target) -> dict[str, object]:
        """What a target registers for each op of the model; under an empty name, what else matters."""
        ops = dict.fromkeys(usage.op for usage in self._usages_and_calls)
        known: dict[str, object] = {op: self._resolver.registration(op, target.registry) for op in ops}
        ours = target.kind == OURS
        rest = kinds_of_devices(target), fills_defaults_in_functions(target), cannot_lower(target), ours
        return {**known, "": self._numbers.setdefault(rest, len(self._numbers))}

    def _answers(self, usage: Usage, target: Target) -> Iterator[Unresolved]:
        """What a target does not resolve in a usage; in a function also if it is called by name."""
        newer, devices = self._newer_types.get(usage, ()), kinds_of_devices(target)
        if target.kind == OURS and all(map(is_engine_with_function, usage.nodes)):
            return
        yield from unresolved_usage(usage, target, self._resolver, self.producer, newer)
        if usage.node.graph is not self.model.graph:
            yield from self._by_name(usage, target, devices)
            if GPU in devices and not has_kernel(usage, target, self._resolver, self.producer, GPU):
                yield Unresolved(Question.CALL_DEVICE, actual=GPU)

    def _wrong_device(self, usage: Usage, target: Target) -> Iterator[Unresolved]:
        """Whether the device that the nodes ask for is missing, or has no kernel."""
        if not is_present(usage.device, target):
            yield Unresolved(Question.DEVICE, actual=usage.device)
        elif kernels := self._kernels_elsewhere(usage, target):
            yield Unresolved(Question.DEVICE, actual=usage.device, kernels=kernels)

    def has_kernel(self, node: Node, target: Target, kind: str) -> bool:
        """Whether the target has a kernel for a node on this kind of device; a function runs on any."""
        usage = self.usage_of(node)
        return usage is None or has_kernel(usage, target, self._resolver, self.producer, kind)

    def usage_of(self, node: Node) -> Usage | None:
        """The usage that a node belongs to; None for the call of a function."""
        return self._usages_by_node.get(node)

    @cached_property
    def _usages_by_node(self) -> dict[Node, Usage]:
        return {node: usage for usage in self.usages for node in usage.nodes}

    def kind_of_device(self, usage: Usage, target: Target) -> str:
        """On which kind of device the nodes of a usage run, `GPU` or `CPU`."""
        return self._shared(self._kind_of_device, usage, target)[0]

    def _kind_of_device(self, usage: Usage, target: Target) -> list[str]:
        return [kind_of_device(usage, target, self._resolver, self.producer)]

    def _kernels_elsewhere(self, usage: Usage, target: Target) -> tuple[Kernel, ...]:
        """The kernels of an op, if some run on the target and none on the device that the nodes ask for."""
        kind = requested_kind(usage.device)
        if not kind or has_kernel(usage, target, self._resolver, self.producer, kind):
            return ()
        return self._resolver.unresolved(usage, target.registry, [kind], self.producer)[-1].kernels

    @cached_property
    def _placed(self) -> Sequence[Usage]:
        """Usages that ask for a device of this machine."""
        asking = [usage for usage in self._usages_and_calls if usage.device]
        return [u for u in asking if is_valid_name(u.device) and is_local(u.device)]

    @cached_property
    def device_requests(self) -> DeviceRequests:
        return DeviceRequests(self.model.graph, self.contexts)

    @cached_property
    def compiled_functions(self) -> CompiledFunctions:
        return CompiledFunctions(self.model.graph, self.contexts)

    def kind_of_call(self, call: Node, target: Target) -> str:
        """On which kind of device a call runs, by an op or by name."""
        if (usage := self.usage_of(call)) is not None:
            return self.kind_of_device(usage, target)
        return GPU if GPU in kinds_of_devices(target) and requested_kind(call.device) in ("", GPU) else CPU

    def contexts_of(self, usage: Usage) -> NodesByContext:
        """The nodes of a usage by their contexts."""
        if usage not in self._contexts:
            self._contexts[usage] = self.contexts.group(usage.nodes)
        return self._contexts[usage]

    def _by_name(self, usage: Usage, target: Target, devices: Sequence[str]) -> Iterator[Unresolved]:
        """What matters only in a function that is called by name, as in TF1."""
        without_xla = [device for device in devices if not device.startswith("XLA")]
        has_xla, fills_defaults = len(without_xla) < len(devices), fills_defaults_in_functions(target)
        definition = target.registry.get(usage.op) if has_xla or not fills_defaults else None
        if definition is None:
            return
        if has_xla:
            without = self._resolver.unresolved(usage, target.registry, without_xla, self.producer)
            with_all = self._resolver.unresolved(usage, target.registry, devices, self.producer)
            if len(without) > len(with_all):
                yield replace(without[-1], question=Question.ONLY_XLA)
        if not fills_defaults:
            for attr in definition.attr:
                if attr.HasField("default_value") and attr.name not in usage.attrs:
                    yield Unresolved(Question.DEFAULT_ATTR, attr.name, expected=attr.type)

    @cached_property
    def _newer_types(self) -> dict[Usage, list[tuple[str, DType]]]:
        """The usages with data types that not every release has."""
        return {usage: newer for usage in self.usages if (newer := list(newer_types(usage.attrs)))}

    @cached_property
    def listed_defaults(self) -> dict[str, dict[str, Attr]]:
        """The attribute defaults of the producer's ops, where the file lists them."""
        listed = self.model.meta.meta_info_def.stripped_op_list.op
        return {
            op.name: {a.name: decode(a.default_value) for a in op.attr if a.HasField("default_value")}
            for op in listed
        }


def signature_names(model: Model) -> list[str]:
    """The signatures of a model; those of a TensorFlow Lite file also if its graph cannot be built."""
    return list(model.signatures if model.lite is None else entry_points(model.lite))


def _requested(model: Model, signatures: Iterable[str] | None, fetches: Sequence[str]) -> frozenset[str]:
    if fetches and signatures is not None:
        raise Error("signatures and tensors to fetch exclude each other: name either")
    available = frozenset([] if fetches else signature_names(model)) or frozenset([ALL])
    if signatures is None:
        return available
    requested = frozenset([signatures] if isinstance(signatures, str) else signatures)
    if unknown := sorted(requested - available):
        names = ", ".join(sorted(signature_names(model))) or "none"
        raise Error(f"{model.where}: no signature {unknown[0]}; available: {names}")
    return requested


# What a target does not resolve.

CALLERS = (*CALLS, "RemoteCall")
"""Ops that only call a function."""


@dataclass(slots=True)
class UnresolvedNodes:
    """Nodes that a target does not resolve for one reason."""

    target: Target
    usage: Usage
    answer: Unresolved
    producer: int = 0
    """The version of the GraphDef."""
    contexts: NodesByContext = field(default_factory=list)

    @property
    def op(self) -> str:
        return self.usage.op

    @property
    def nodes(self) -> list[Node]:
        return [node for _, nodes in self.contexts for node in nodes]

    def with_defaults(self) -> dict[str, Attr]:
        """The attributes of the nodes, with the target's defaults for those that are absent."""
        definition = self.target.registry.get(self.op)
        declared = definition.attr if definition is not None else ()
        defaults = {a.name: decode(a.default_value) for a in declared if a.HasField("default_value")}
        return {**defaults, **self.usage.attrs}

    def kernel_types(self) -> str:
        """The attributes that choose a kernel, with their values: `T=int8, label eigen`."""
        attrs = self.with_defaults()
        names = dict.fromkeys(name for kernel in self.answer.kernels for name in kernel.constraints)
        types = [f"{name}={_value(attrs[name])}" for name in names if name in attrs]
        return ", ".join([*types, *([f"label {attrs[LABEL]}"] if LABEL in attrs else [])])


def _value(value: Attr) -> str:
    return ", ".join(map(value_text, value)) if isinstance(value, list) else value_text(value)


def depends_on_release(op: str) -> bool:
    """Whether kernels of an op differ between releases by more than what they register."""
    return has_limits(op) or may_answer_otherwise(op) or op == XLA_PROGRAM


def unresolved_usage(
    usage: Usage,
    target: Target,
    resolver: Resolver,
    producer: int,
    newer: Iterable[tuple[str, DType]],
    devices: tuple[str, ...] | None = None,
) -> Iterator[Unresolved]:
    """Everything unresolved; `newer` are the attributes with data types that not every release has.

    `devices` are the kinds of devices that may run it (default: all of the target).
    """
    for name, dtype in newer:
        if not knows_type(target, dtype):
            # XLA kernels list the types that a call may have; an unknown type cannot be compared
            listed = usage.op in CALLERS and has_xla_devices(target) and since(target, "1.14")
            yield Unresolved(Question.DATA_TYPE, name, dtype, structural=listed)
    yield from resolver.unresolved(usage, target.registry, devices or kinds_of_devices(target), producer)
    if depends_on_release(usage.op):
        kind = kind_of_device(usage, target, resolver, producer)
        yield from kernel_limits(usage, target, kind)
        yield from other_answers(usage, target)
        yield from module_limits(usage, target, kind)
    if usage.device and not is_valid_name(usage.device):
        yield Unresolved(Question.DEVICE_NAME, actual=usage.device)
    elif usage.device and not is_local(usage.device):
        yield Unresolved(Question.JOB, actual=usage.device)
    if usage.op in cannot_lower(target) and any(n.attrs.get(LOWER) is True for n in usage.nodes):
        yield Unresolved(Question.LOWERING)
