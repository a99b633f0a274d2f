"""Custom and Flex ops of a TensorFlow Lite file: which of them an interpreter and its delegates resolve."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.lite.releases import FLEX, LITERT, NONE, XNNPACK, LiteRegistry, flex_allow_list
from tfport.atlas.target import Target
from tfport.check.findings.finding import LOAD, RUN
from tfport.check.findings.lite_files import (
    LiteFileFinding,
    LiteFlexNotLinked,
    LiteFlexOpMissing,
    LiteUnresolvedCustomOp,
)
from tfport.check.lite.places import node_places
from tfport.check.lite.reach import MAIN, entry_points, reached
from tfport.formats.lite.records import CUSTOM, LiteFile, LiteOperator, Subgraph
from tfport.startup.dataclass import dataclass

NEWEST = "2.21.0"
"""The list of Flex ops that stands for interpreters which are not part of TensorFlow."""
BUILT_IN = 1
"""The version of every custom op that interpreters register."""
AT_LOAD = "Registration failed"
NO_LIST = "the list of Flex ops of this release is not known"
UNREGISTERED = (
    "Op type not registered '{op}' in binary running on localhost. Make sure the Op and Kernel are "
    "registered in the binary running in this process."
)


@dataclass(frozen=True)
class _CustomNode:
    """The first node of a custom op in a subgraph."""

    node: LiteOperator
    number: int
    subgraph: Subgraph
    signatures: tuple[str, ...]
    is_reached: bool


def custom_op_findings(file: LiteFile, target: Target, registry: LiteRegistry) -> Iterator[LiteFileFinding]:
    """The custom and Flex ops that are not resolved, each once."""
    delegates = active_delegates(target, registry)
    seen: set[str] = set()
    for custom in _custom_nodes(file):
        name = custom.node.code.name
        if name in seen:
            continue
        if (finding := _finding(custom, target, registry, delegates)) is not None:
            seen.add(name)
            finding.where = node_places(file, custom.node.code)
            finding.stage = _stage(finding, custom)
            finding.signatures = custom.signatures
            yield finding


def _stage(finding: LiteFileFinding, custom: _CustomNode) -> str | None:
    """When the interpreter notices it: before 1.15, custom ops are resolved with the others."""
    if AT_LOAD in finding.says_text:
        return LOAD
    return RUN if custom.is_reached else None


def active_delegates(target: Target, registry: LiteRegistry) -> frozenset[str]:
    """The delegates that the interpreter applies."""
    if target.delegate is None:
        return registry.delegates
    if target.delegate == NONE:
        return registry.delegates - {XNNPACK}  # where Flex is found, it is always applied
    return frozenset([target.delegate])


def _custom_nodes(file: LiteFile) -> Iterator[_CustomNode]:
    """The nodes of custom ops; those of the main subgraph first, in the order in which they are prepared."""
    entries, main = entry_points(file), reached(file, MAIN)
    for number, subgraph in enumerate(file.subgraphs):
        keys = tuple(key for key, numbers in entries.items() if number in numbers)
        for at, node in enumerate(subgraph.operators):
            if node.code.op == CUSTOM:
                yield _CustomNode(node, at, subgraph, keys, bool(keys) or number in main)


def _finding(
    custom: _CustomNode, target: Target, registry: LiteRegistry, delegates: frozenset[str]
) -> LiteFileFinding | None:
    name = custom.node.code.name
    if op := custom.node.code.flex_op:
        return _flex(op, target, registry) if FLEX in delegates else _not_linked(op, custom, registry)
    if name in registry.custom_ops and custom.node.code.version == BUILT_IN:
        return None
    if XNNPACK in delegates and name in registry.delegated:
        return None
    taken = name in registry.delegated
    return LiteUnresolvedCustomOp(
        op=name,
        says_text=registry.says("custom", op=name, node=custom.number, version=custom.node.code.version),
        why="XNNPACK has it, and is not in use" if taken else "",
        doubt="" if registry.is_complete else "only some of the ops of this build are known",
        ways=("use XNNPACK, the default delegate",) if taken else ("register the custom op",),
    )


def _not_linked(op: str, custom: _CustomNode, registry: LiteRegistry) -> LiteFileFinding:
    return LiteFlexNotLinked(
        op=op,
        says_text=registry.says("flex", op=custom.node.code.name, node=custom.number),
        ways=("tfport fix --for TARGET", "use tensorflow==2.18.1 or another runtime with the Flex delegate"),
    )


def _flex(op: str, target: Target, registry: LiteRegistry) -> LiteFileFinding | None:
    """Whether the Flex delegate has an op: TensorFlow's own registry, or the list of builds for phones."""
    if target.build is not None and target.named_lite is None:
        if op in target.registry:
            return None
        return LiteFlexOpMissing(
            op=op, says_text=UNREGISTERED.format(op=op), why="TensorFlow does not register it"
        )
    newest = registry.package == LITERT or not registry.version
    allowed = flex_allow_list(NEWEST if newest else registry.version)
    if allowed is not None and op in allowed:
        return None
    doubt = NO_LIST if allowed is None else ""
    return LiteFlexOpMissing(op=op, why="it is not on the list of Flex ops", doubt=doubt)
