"""A model made ready to be held against many targets: what does not depend on a target is found once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

from tfport.atlas.target import Target
from tfport.check.devices import is_here, is_name, is_there, kinds_of_devices
from tfport.check.findings.files import Lapse, checksum_lapses, file_lapses
from tfport.check.findings.integrity import lapses
from tfport.check.findings.python_objects import kinds_of_values
from tfport.check.findings.state import state_lapses
from tfport.check.node_contexts import NodeContext, NodeContexts
from tfport.check.release_quirks import fills_defaults_in_functions, knows_init_signature, newer_types
from tfport.check.unresolved_usage import unresolved_usage
from tfport.errors import Error
from tfport.graph.attrs import Attr, decode
from tfport.graph.census import every_node
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.usage import Usage, usages
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved


class CheckedModel:
    """A model, and the signatures that are asked for."""

    def __init__(
        self, model: Model, signatures: Iterable[str] | None = None, *, checksums: bool = False
    ) -> None:
        if not len(model.graph):
            raise Error(f"{model.where}: {model.format.name} without a graph; there is nothing in it to run")
        self.model = model
        self.signatures = _asked(model, signatures)
        self.places = NodeContexts(model)
        self._resolver = Resolver()
        self._found: dict[Target, list[tuple[Usage, Unresolved]]] = {}
        self._places: dict[Usage, list[tuple[NodeContext, list[Node]]]] = {}
        self._checksums = checksums
        self._states: dict[bool, list[Lapse]] = {}

    def asking(self, signature: str) -> CheckedModel:
        """The same, with all that was found out about it, asked for one signature."""
        alone = copy(self)
        alone.signatures = frozenset([signature])
        return alone

    @cached_property
    def usages(self) -> Sequence[Usage]:
        functions = self.model.graph.library.functions
        return [usage for usage in usages(every_node(self.model.graph)) if usage.op not in functions]

    @cached_property
    def _lapses(self) -> list[tuple[Usage, Unresolved]]:
        return list(lapses(self.model, self.places.callers))

    def file_lapses(self, target: Target) -> list[Lapse]:
        """What is wrong with the files and the state, whatever the registry."""
        known = knows_init_signature(target)
        if known not in self._states:
            self._states[known] = list(state_lapses(self.model, self.places, by_signature=known))
        return [*self._lapses_of_files, *self._states[known]]

    @cached_property
    def _lapses_of_files(self) -> list[Lapse]:
        files = list(file_lapses(self.model))
        return files + (list(checksum_lapses(self.model)) if self._checksums and not files else [])

    @property
    def producer(self) -> int:
        """The version of the GraphDef."""
        rest = self.model.graph.rest
        return rest.versions.producer or rest.version

    def unresolved(self, target: Target, *, soft: bool) -> Iterable[tuple[Usage, Unresolved]]:
        """Everything that a target does not resolve; placed softly, a node may run on another device."""
        if target not in self._found:
            self._found = {target: list(self._unresolved(target))}  # kept for the other loaders
        yield from self._found[target]
        for usage in self._placed if not soft else ():
            if not is_there(usage.device, target):
                yield usage, Unresolved(Question.DEVICE, actual=usage.device)

    def _unresolved(self, target: Target) -> Iterator[tuple[Usage, Unresolved]]:
        among = self.usages  # first: they are found faster while attributes are as read
        yield from self._lapses
        for function in self.model.graph.library.functions.values():
            if function.name in target.registry and (node := next(iter(function), None)):
                yield Usage(node, (), [node]), Unresolved(Question.FUNCTION_NAME, actual=function.name)
        devices = kinds_of_devices(target)
        for usage in among:
            newer = self._newer_types.get(usage, ())
            for reason in unresolved_usage(usage, target, self._resolver, self.producer, newer):
                yield usage, reason
            yield from ((usage, reason) for reason in self._by_name(usage, target, devices))

    @cached_property
    def _placed(self) -> Sequence[Usage]:
        """Those that ask for a device of this machine."""
        return [u for u in self.usages if u.device and is_name(u.device) and is_here(u.device)]

    def places_of(self, usage: Usage) -> list[tuple[NodeContext, list[Node]]]:
        """The nodes of a usage by their places."""
        if usage not in self._places:
            self._places[usage] = self.places.together(usage.nodes)
        return self._places[usage]

    def _by_name(self, usage: Usage, target: Target, devices: Sequence[str]) -> Iterator[Unresolved]:
        """What matters only in a function that is called as an op of its name."""
        own = [device for device in devices if not device.startswith("XLA")]
        definition = target.registry.get(usage.op)
        if definition is None or usage.node.graph is self.model.graph:
            return
        if len(own) < len(devices):
            without = self._resolver.unresolved(usage, target.registry, own, self.producer)
            there = self._resolver.unresolved(usage, target.registry, devices, self.producer)
            if len(without) > len(there):
                yield replace(without[-1], question=Question.ONLY_XLA)
        if not fills_defaults_in_functions(target):
            for attr in definition.attr:
                if attr.HasField("default_value") and attr.name not in usage.attrs:
                    yield Unresolved(Question.DEFAULT_ATTR, attr.name, expected=attr.type)

    @cached_property
    def _newer_types(self) -> dict[Usage, list[tuple[str, DType]]]:
        """The usages with types of elements that not every release has."""
        return {usage: found for usage in self.usages if (found := list(newer_types(usage.attrs)))}

    @cached_property
    def kinds_of_values(self) -> list[str]:
        """The kinds of values that the signatures of its objects' functions have."""
        return sorted(kinds_of_values(self.model.meta.object_graph_def))

    @cached_property
    def listed_defaults(self) -> dict[str, dict[str, Attr]]:
        """What the producer's ops take their attributes to be, where the file lists them."""
        listed = self.model.meta.meta_info_def.stripped_op_list.op
        return {
            op.name: {a.name: decode(a.default_value) for a in op.attr if a.HasField("default_value")}
            for op in listed
        }


def _asked(model: Model, signatures: Iterable[str] | None) -> frozenset[str]:
    there = frozenset(model.signatures) or frozenset([""])
    if signatures is None:
        return there
    wanted = frozenset([signatures] if isinstance(signatures, str) else signatures)
    if unknown := sorted(wanted - there):
        names = ", ".join(sorted(model.signatures)) or "none"
        raise Error(f"{model.where}: no signature {unknown[0]}; there is {names}")
    return wanted
