"""Rewrite the operators of a TensorFlow Lite file until an interpreter resolves them.

An operator whose version is too new gets the version that it needs, if the interpreter has that; otherwise
rules replace it by others, which may need rules of their own. Codes that no operator uses are dropped, as
interpreters resolve them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.lite.releases import FLEX, LiteRegistry
from tfport.check.lite.consistency import has_wrong_axis
from tfport.check.lite.op_versions import needed_version
from tfport.fix.journal import Journal
from tfport.fix.lite.editor import SubgraphEditor, copied_options
from tfport.fix.lite.rule import LITE_RULES, LiteRule
from tfport.fix.rule import LOSSY
from tfport.formats.lite.metadata import MIN_RUNTIME
from tfport.formats.lite.records import CUSTOM, LiteFile, LiteOperator, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.constants import constant_array, external_data, has_data
from tfport.graph.building.node_builder import Refusal
from tfport.startup.dataclass import dataclass, field, replace

SIGNED = ("INT4", "INT2")
DEEPEST = 6
"""The most rules, one after the other, for one operator."""


@dataclass
class LiteRewrite:
    """A copy of a file, rewritten for an interpreter."""

    source: LiteFile
    registry: LiteRegistry
    allow_lossy: bool = False
    journal: Journal = field(default_factory=Journal)
    reasons: list[str] = field(default_factory=list)
    """Why operators could not be replaced."""

    def __post_init__(self) -> None:
        self.file = _copy(self.source)
        self._correct_axes()
        self._widen_integers()
        self._move_constants()
        self._drop_unused_state()
        for graph in self.file.subgraphs:
            graph.operators = [new for node in graph.operators for new in self._resolved(graph, node, 0)]
        self._drop_unused_codes()
        if self.journal.entries:  # it says which runtime the old file needs
            self.file.metadata = [entry for entry in self.file.metadata if entry[0] != MIN_RUNTIME]

    def _resolved(self, graph: Subgraph, node: LiteOperator, depth: int) -> Iterator[LiteOperator]:
        """The operator with a version that the interpreter has, or what replaces it."""
        version = self._version(graph, node)
        if version is not None:
            if version != node.code.version and depth == 0:
                says = "An operator has the version that it needs, which the interpreter registers."
                self.journal.changed("lower version", says, [(_name(graph, node), node.code.op)])
            node.code = replace(node.code, version=version)
            yield node
            return
        yield from self._replaced(graph, node, depth)

    def _version(self, graph: Subgraph, node: LiteOperator) -> int | None:
        """The version to write; None if the interpreter has none that does it."""
        code = node.code
        if code.op == CUSTOM:
            own = self.registry.custom_ops | self.registry.delegated
            known = code.custom in own or (bool(code.flex_op) and FLEX in self.registry.delegates)
            return code.version if known else None
        versions = self.registry.versions(code.op)
        if versions is None or code.version in versions:
            return code.version
        needed = needed_version(node, graph).version
        return min((version for version in versions if version >= needed), default=None)

    def _replaced(self, graph: Subgraph, node: LiteOperator, depth: int) -> list[LiteOperator]:
        refusals: list[str] = []
        for rule in sorted(LITE_RULES.of(node.code.name), key=lambda rule: rule.keeps.price):
            if rule.keeps is LOSSY and not self.allow_lossy:
                refusals.append(f"{rule.name} loses accuracy; --allow-lossy permits it")
                continue
            added = self._attempt(graph, node, rule, depth, refusals)
            if added is not None:
                return added
        if depth == 0:
            self.reasons.append(_reason(graph, node, refusals))
        return [node]

    def _attempt(
        self, graph: Subgraph, node: LiteOperator, rule: LiteRule, depth: int, refusals: list[str]
    ) -> list[LiteOperator] | None:
        """The operators of a rule, all resolved; None if it refuses or does not lead to that."""
        editor = SubgraphEditor(self.file, graph, _name(graph, node))
        tensors, buffers, reasons = len(graph.tensors), len(self.file.buffers), len(self.reasons)
        try:
            if depth >= DEEPEST:
                raise Refusal("too many rules one after the other")
            rule.make(editor, node)
            added = [new for old in editor.added for new in self._resolved(graph, old, depth + 1)]
            if missing := [new.code.name for new in added if self._version(graph, new) is None]:
                raise Refusal(f"it needs {missing[0]}")
        except Refusal as refusal:
            refusals.append(f"{rule.name}: {refusal.why}")
            del graph.tensors[tensors:], self.file.buffers[buffers:], self.reasons[reasons:]
            return None
        before, after = ([(_name(graph, n), n.code.name) for n in nodes] for nodes in ([node], added))
        self.journal.changed(rule.name, rule.says, before, rule.keeps, after)
        return added

    def _correct_axes(self) -> None:
        """A vector has one axis, whatever the axis of its scales says."""
        says = "The scales of a vector are along its only axis; interpreters refuse another one."
        for graph in self.file.subgraphs:
            for index, tensor in enumerate(graph.tensors):
                if tensor.quantization is not None and has_wrong_axis(tensor):
                    corrected = replace(tensor.quantization, axis=0)
                    graph.tensors[index] = replace(tensor, quantization=corrected)
                    self.journal.changed("axis of scales", says, [(tensor.name, tensor.type)])

    def _widen_integers(self) -> None:
        """Constants of less than 8 bits become int8, with the same scales, if their type is unknown."""
        numbers = lite_schema().enums["TensorType"].numbers
        says = "Constants of less than 8 bits are stored as int8, with the same scales."
        for graph in self.file.subgraphs:
            for index, tensor in enumerate(graph.tensors):
                stored, types = tensor.quantization, self.registry.types
                is_known = types is None or numbers.get(tensor.type) in types
                has_scales = stored is not None and bool(stored.scale)
                if is_known or tensor.type not in SIGNED or not has_scales or not has_data(self.file, tensor):
                    continue
                self.file.buffers.append(constant_array(self.file, tensor).astype("int8").tobytes())
                graph.tensors[index] = replace(
                    tensor, type="INT8", buffer=len(self.file.buffers) - 1, external_buffer=0
                )
                self.journal.changed("constants of 8 bits", says, [(tensor.name, tensor.type)])

    def _move_constants(self) -> None:
        """The written file has its constants inside, unless it is too large."""
        moved = [(f"buffer {number}", "") for number in sorted(self.file.outside)]
        for graph in self.file.subgraphs:
            for index, tensor in enumerate(graph.tensors):
                if tensor.external_buffer:
                    self.file.buffers.append(external_data(self.file, tensor))
                    number = len(self.file.buffers) - 1
                    graph.tensors[index] = replace(tensor, buffer=number, external_buffer=0)
                    moved.append((tensor.name, tensor.type))
        says = "Constants are in the flatbuffer, where every interpreter looks for them."
        self.journal.changed("constants inside", says, moved)
        self.file.outside, self.file.external_buffers = frozenset(), ()
        self.file.external_buffer_groups = ()

    def _drop_unused_state(self) -> None:
        nodes = [(graph, node) for graph in self.file.subgraphs for node in graph.operators]
        if any(node.code.op in STATE and self._version(graph, node) is None for graph, node in nodes):
            says = "Variables that no output depends on are left out."
            removed = without_unused_state(self.file)
            changed = [(_name(graph, node), node.code.op) for graph, node in removed]
            self.journal.changed("without unused state", says, changed)

    def _drop_unused_codes(self) -> None:
        used = {node.code for graph in self.file.subgraphs for node in graph.operators}
        unused = [code for code in self.source.operator_codes if not _is_used(code.name, self.source)]
        says = "Ops that no operator uses are not listed, because interpreters resolve them too."
        self.journal.changed("without unused ops", says, [("", code.name) for code in unused])
        self.file.operator_codes = [code for code in self.file.operator_codes if code in used]


def _is_used(name: str, file: LiteFile) -> bool:
    return any(node.code.name == name for graph in file.subgraphs for node in graph.operators)


def _copy(file: LiteFile) -> LiteFile:
    """A copy whose operators and tensors may be changed; the data is shared."""
    graphs = [
        replace(
            graph,
            tensors=list(graph.tensors),
            operators=[replace(node, options=copied_options(node.options)) for node in graph.operators],
        )
        for graph in file.subgraphs
    ]
    codes = list(file.operator_codes)
    return replace(file, subgraphs=graphs, buffers=list(file.buffers), operator_codes=codes)


def _name(graph: Subgraph, node: LiteOperator) -> str:
    return next((graph.tensors[index].name for index in node.outputs if index >= 0), node.code.name)


def _reason(graph: Subgraph, node: LiteOperator, refusals: list[str]) -> str:
    code = node.code
    what = f"{code.name} version {code.version} (`{_name(graph, node)}`)"
    return f"{what}: " + ("; ".join(refusals) if refusals else "no rule replaces it")


# State that no output depends on, for interpreters without variables: a layer for training may leave a
# counter in the file, a variable that is read, increased and written.

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
STATE = frozenset({HANDLE, READ, ASSIGN, ONCE})
CALLS = frozenset({"IF", "WHILE", "STABLEHLO_COMPOSITE", "STABLEHLO_REDUCE", "STABLEHLO_REDUCE_WINDOW"})


def without_unused_state(file: LiteFile) -> list[tuple[Subgraph, LiteOperator]]:
    """Remove the operators of variables that no output depends on; returns what was removed.

    All variables must be such ones: a variable that is needed stays, and so does every other.
    """
    removed: list[tuple[Subgraph, LiteOperator]] = []
    for graph in file.subgraphs:
        needed = _needed(graph)
        if any(node.code.op == READ and id(node) in needed for node in graph.operators):
            return []
        removed += [(graph, node) for node in graph.operators if id(node) not in needed]
    starts = {node.options.get("init_subgraph_index", 0) for _, node in removed if node.code.op == ONCE}
    if any(node.code.op not in STATE for at in starts for node in file.subgraphs[at].operators):
        return []
    if not any(node.code.op == ASSIGN for _, node in removed):
        return []
    gone = {id(node) for _, node in removed}
    for graph in file.subgraphs:
        graph.operators = [node for node in graph.operators if id(node) not in gone]
    _blank(removed)
    return removed


def _needed(graph: Subgraph) -> set[int]:
    """The ids of the operators that outputs or effects other than those on variables depend on."""
    makers = {index: node for node in graph.operators for index in node.outputs}
    start = [node for node in graph.operators if not node.outputs and node.code.op not in STATE]
    pending = [*start, *(node for node in graph.operators if node.code.op in CALLS)]
    pending += [makers[index] for index in graph.outputs if index in makers]
    needed: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in needed:
            needed.add(id(node))
            pending += _makers(node.inputs, makers)
    return needed


def _makers(indices: Iterable[int], makers: dict[int, LiteOperator]) -> Iterator[LiteOperator]:
    return (makers[index] for index in indices if index in makers)


def _blank(removed: Iterable[tuple[Subgraph, LiteOperator]]) -> None:
    """Make the results of removed operators empty: old interpreters do not know the type of a handle."""
    for graph, node in removed:
        for index in node.outputs:
            graph.tensors[index] = replace(
                graph.tensors[index], type="FLOAT32", shape=(0,), shape_signature=(), quantization=None
            )
