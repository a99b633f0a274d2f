"""What a TensorFlow Lite interpreter does with a file: which ops it resolves when it loads and allocates.

Loading reads the version of the format, resolves every builtin op of the file, used or not, and reads the
types and scales of the tensors. Custom and Flex ops are resolved when the tensors of a subgraph are
allocated.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.lite.releases import (
    FLEX,
    LITERT,
    NONE,
    SCHEMA,
    XNNPACK,
    LiteRegistry,
    first_release_with,
    flex_allow_list,
)
from tfport.atlas.target import Target
from tfport.check.findings.finding import LOAD, RUN
from tfport.check.findings.lite_files import (
    LiteFileFinding,
    LiteFlexNotLinked,
    LiteFlexOpMissing,
    LiteNewerOpVersion,
    LiteSchemaVersion,
    LiteUnknownOpNumber,
    LiteUnknownType,
    LiteUnregisteredOp,
    LiteUnresolvedCustomOp,
)
from tfport.check.lite.consistency import inconsistencies, outside_constants, shared_tensors
from tfport.check.lite.op_versions import NeededVersion, needed_version
from tfport.check.lite.places import node_places, tensor_place
from tfport.check.lite.reach import MAIN, entry_points, reached
from tfport.formats.lite.records import CUSTOM, LiteFile, LiteOperator, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.startup.dataclass import dataclass

BYTE_CODES = 127
"""Numbers above it are in a field that interpreters before 2.4 do not read; they see this one."""
PARTLY_KNOWN = "only some of the ops of this build are known"


def simulated_interpreter(file: LiteFile, target: Target) -> Iterator[LiteFileFinding]:
    """Every reason why the interpreter of a target does not load or run a file, in its order."""
    registry = target.lite
    assert registry is not None
    if file.version != SCHEMA:
        yield LiteSchemaVersion(schema=file.version, says_text=registry.says("schema", schema=file.version))
    for code in file.operator_codes:
        if code.op != CUSTOM:
            yield from _builtin(file, code, registry)
    yield from inconsistencies(file)
    yield from _types(file, registry)
    yield from shared_tensors(file)
    yield from custom_op_findings(file, target, registry)
    yield from outside_constants(file, registry)


def _builtin(file: LiteFile, code: OperatorCode, registry: LiteRegistry) -> Iterator[LiteFileFinding]:
    """Whether the interpreter resolves a builtin op."""
    where = node_places(file, code)
    if registry.newest is not None and code.number > registry.newest:
        shown = min(code.number, BYTE_CODES) if registry.newest < BYTE_CODES else code.number
        yield LiteUnknownOpNumber(
            op=code.op,
            number=code.number,
            newest=registry.newest,
            where=where,
            why=_since(code.op, 1),
            says_text=registry.says("out_of_range", code=shown),
            ways=_ways(code),
        )
        return
    versions = registry.versions(code.op)
    if versions is None or code.version in versions:
        return
    text = registry.says("version" if versions else "op", op=code.op, version=code.version)
    doubt = "" if registry.is_complete else PARTLY_KNOWN
    if not versions:
        yield LiteUnregisteredOp(
            op=code.op,
            where=where,
            why=_since(code.op, code.version),
            says_text=text,
            ways=_ways(code),
            doubt=doubt,
        )
        return
    yield LiteNewerOpVersion(
        op=code.op,
        version=code.version,
        registered=_range(versions),
        where=where,
        why=_why(file, code, max(versions)),
        says_text=text,
        ways=_ways(code),
    )


def _why(file: LiteFile, code: OperatorCode, newest: int) -> str:
    """Which feature of which node asks for a version, and since when interpreters have it."""
    needs = [
        (needed_version(node, subgraph), number, subgraph.name)
        for subgraph in file.subgraphs
        for number, node in enumerate(subgraph.operators)
        if node.code == code
    ]
    too_new = [(need, number, name) for need, number, name in needs if need.version > newest]
    since = _since(code.op, code.version)
    if not too_new:
        lowest = max((need.version for need, _, _ in needs), default=1)
        return f"no node needs it: version {lowest} has all that the file uses; {since}"
    need, number, name = max(too_new, key=lambda entry: entry[0].version)
    return f"{_feature(need)} (node {number}{f' of {name}' if name else ''}); {since}"


def _feature(need: NeededVersion) -> str:
    return f"version {need.version} is for nodes where {need.feature}"


def _since(op: str, version: int) -> str:
    """The first recorded interpreters that have a version of an op."""
    first = first_release_with(op, version)
    return f"first in {' and '.join(first)}" if first else "in no recorded interpreter"


def _ways(code: OperatorCode) -> tuple[str, ...]:
    first = first_release_with(code.op, code.version)
    newer = (f"use {' or '.join(first)} or later",) if first else ()
    return (*newer, "tfport fix --for TARGET")


def _range(versions: frozenset[int]) -> str:
    """`in version 1`, `up to version 5`, `in versions 2 to 3`."""
    first, last = min(versions), max(versions)
    if first == last:
        return f"in version {first}"
    return f"up to version {last}" if first == 1 else f"in versions {first} to {last}"


def _types(file: LiteFile, registry: LiteRegistry) -> Iterator[LiteFileFinding]:
    """The tensor types that the interpreter does not know, each once."""
    if registry.types is None:
        return
    numbers = lite_schema().enums["TensorType"].numbers
    seen: set[str] = set()
    for subgraph in file.subgraphs:
        for tensor in subgraph.tensors:
            number = numbers.get(tensor.type, -1)
            if tensor.type in seen or number in registry.types:
                continue
            seen.add(tensor.type)
            yield LiteUnknownType(
                type_name=tensor.type,
                where=tensor_place(tensor, subgraph),
                says_text=registry.says("type", type=number) if number >= 0 else "",
                ways=("use a newer interpreter",),
            )


# Custom and Flex ops, which the interpreter or its delegates resolve.

NEWEST = "2.21.0"
"""The list of Flex ops that stands for interpreters which are not part of TensorFlow."""
BUILT_IN = 1
"""The version of every custom op that interpreters register."""
AT_LOAD = "Registration failed"
NO_LIST = "the list of Flex ops of this release is not known"
NO_KERNEL = (
    "No registered '{op}' OpKernel for 'CPU' devices compatible with node {{{{node {op}}}}}\n\t.  "
    "Registered:  <no registered kernels>"
)
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
        doubt="" if registry.is_complete else PARTLY_KNOWN,
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
        if op not in target.registry:
            says, why = UNREGISTERED, "TensorFlow does not register it"
        elif not target.registry.kernels(op):
            says, why = NO_KERNEL, "TensorFlow registers it without a kernel"
        else:
            return None
        return LiteFlexOpMissing(op=op, says_text=says.format(op=op), why=why)
    newest = registry.package == LITERT or not registry.version
    allowed = flex_allow_list(NEWEST if newest else registry.version)
    if allowed is not None and op in allowed:
        return None
    doubt = NO_LIST if allowed is None else ""
    return LiteFlexOpMissing(op=op, why="it is not on the list of Flex ops", doubt=doubt)
