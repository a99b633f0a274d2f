"""The difference of two graphs: nodes that were added, are gone, changed, or are equal.

Nodes are matched by structure before names, because names are counters: `MatMul_1` of one graph is often
`MatMul_2` of the other. First, nodes that compute the same from the start, whatever they are called; then
those with the same op that read the same matched values, or share one; then those with the same name. Of
several candidates, one with the same name wins. The rest was added or is gone. A matched node is changed if
its op, attributes, device, inputs or control inputs differ. `match_functions` does the same for functions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfport.errors import Error, MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.tensors import Tensor
from tfport.graph.text import MOST_ELEMENTS, attr_text
from tfport.startup.dataclass import dataclass, field, replace

IGNORED = ("_output_shapes", "_class", "_xla_inferred_shapes", "_gradient_op_type")
"""Notes of Python and of optimizers, which a runtime does not need."""
NAME_MARKS = re.compile(r"^__(inference|forward|backward)_+|(_\d+)+$")
"""What TensorFlow adds to the names of functions: a number that differs each time a model is saved."""
MOST_PASSES = 50
MOST_CANDIDATES = 64
OWN_VALUE = 2
"""How much a weight or another constant says about who a node is, beside what is computed for it."""
INPUTS = ("Placeholder", "PlaceholderWithDefault", "_Arg")
DEEPEST = 50
MOST_REASONS = 20
LONGEST = 120


@dataclass
class GraphDifference:
    """What differs between graph a and graph b."""

    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """The names in a and in b, and what differs."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Equal nodes with other names."""
    same: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether nothing but names differs."""
        return not (self.added or self.gone or self.changed)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "added": self.added,
            "gone": self.gone,
            "changed": [{"a": a, "b": b, "what": what} for a, b, what in self.changed],
            "renamed": [list(pair) for pair in self.renamed],
            "same": self.same,
        }


def graph_difference(a: Graph, b: Graph, functions: Mapping[str, str] | None = None) -> GraphDifference:
    """Compare two graphs; `functions` are those of b by the name of their counterpart in a."""
    texts = _AttrTexts(a, functions or {})
    ours, theirs = _nodes(a), _nodes(b)
    matched = _Matching(ours, theirs, texts).pairs
    difference = GraphDifference()
    taken = set(matched.values())
    difference.gone = [name for name, node in ours.items() if node not in matched]
    difference.added = [name for name, node in theirs.items() if node not in taken]
    for name, node in ours.items():
        if (other := matched.get(node)) is None:
            continue
        what = list(_differences(node, other, matched, texts))[:MOST_REASONS]
        if what:
            difference.changed.append((name, other.name, what))
        elif name != other.name:
            difference.renamed.append((name, other.name))
        else:
            difference.same += 1
    return difference


def match_functions(a: Graph, b: Graph) -> dict[str, str]:
    """The function of b for each function of a: the same work first, then the same name without numbers."""
    ours, theirs = _FunctionDigests(a), _FunctionDigests(b)
    matched = _paired(_grouped(ours.all()), _grouped(theirs.all()))
    taken = set(matched.values())

    def left(graph: Graph, without: Iterable[str]) -> Iterator[tuple[str, str]]:
        return ((name, NAME_MARKS.sub("", name)) for name in graph.library.functions if name not in without)

    matched |= _paired(_grouped(left(a, matched)), _grouped(left(b, taken)))
    return matched


def _grouped(keyed: Iterable[tuple[str, Any]]) -> dict[Any, list[str]]:
    groups: dict[Any, list[str]] = {}
    for name, key in keyed:
        groups.setdefault(key, []).append(name)
    return groups


def _paired(ours: Mapping[Any, list[str]], theirs: Mapping[Any, list[str]]) -> dict[str, str]:
    """Names with the same key: those that are in both, then the rest in order."""
    pairs: dict[str, str] = {}
    for key, names in ours.items():
        others = theirs.get(key, [])
        same = set(names) & set(others)
        pairs |= {name: name for name in same}
        pairs |= zip((n for n in names if n not in same), (n for n in others if n not in same), strict=False)
    return pairs


def _nodes(graph: Graph) -> dict[str, Node]:
    """All nodes by name, with the arguments and returns of a function."""
    nodes: dict[str, Node] = {}
    if isinstance(graph, Function):
        nodes |= graph.args
    nodes |= graph.nodes
    for end in graph.ends:
        nodes.setdefault(end.name, end)
    return nodes


class _AttrTexts:
    """The attributes of nodes as texts, in which functions of a have the names of their counterparts in b."""

    def __init__(self, a: Graph, functions: Mapping[str, str]) -> None:
        self._library, self._functions = a.library, functions
        self._texts: dict[Node, dict[str, str]] = {}

    def of(self, node: Node) -> dict[str, str]:
        if node not in self._texts:
            names = self._functions if node.graph.library is self._library else {}
            self._texts[node] = _attr_texts(node, lambda name: names.get(name, name))
        return self._texts[node]


class _Matching:
    """The node of b for each node of a."""

    def __init__(self, ours: Mapping[str, Node], theirs: Mapping[str, Node], texts: _AttrTexts) -> None:
        self._ours, self._theirs, self._texts = ours, theirs, texts
        self.pairs: dict[Node, Node] = {}
        self._taken: set[Node] = set()
        self._match_equal()
        self._match_by_inputs()
        self._match_by_name(same_op=True)
        self._match_by_inputs()
        self._match_by_name(same_op=False)

    def _pair(self, node: Node, other: Node) -> None:
        self.pairs[node] = other
        self._taken.add(other)

    def _match_equal(self) -> None:
        """Nodes that do the same work, with all that they need."""
        ours, theirs = (node_digests(nodes.values(), self._texts.of) for nodes in (self._ours, self._theirs))
        keyed = [_grouped((name, d[nodes[name]]) for name in nodes) for nodes, d in
                 ((self._ours, ours), (self._theirs, theirs))]  # fmt: skip
        for name, other in _paired(*keyed).items():
            self._pair(self._ours[name], self._theirs[other])

    def _match_by_inputs(self) -> None:
        """Nodes of an op that read matched values: all of them, else at least one."""
        for _ in range(MOST_PASSES):
            readers: dict[object, list[Node]] = {}
            for other in self._theirs.values():
                if other not in self._taken:
                    for position, value in enumerate(other.inputs):
                        readers.setdefault((other.op, position, value.node, value.index), []).append(other)
            before = len(self.pairs)
            for node in self._ours.values():
                if node not in self.pairs and (reader := self._likeliest(node, readers)) is not None:
                    self._pair(node, reader)
            if len(self.pairs) == before:
                return

    def _likeliest(self, node: Node, readers: Mapping[object, list[Node]]) -> Node | None:
        """Who reads the most values that the node reads; of those, one with its name, then its attributes."""
        shared: dict[Node, int] = {}
        for position, value in enumerate(node.inputs):
            if (source := self.pairs.get(value.node)) is not None:
                is_own = not value.node.inputs and value.node.op not in INPUTS
                for other in readers.get((node.op, position, source, value.index), ())[:MOST_CANDIDATES]:
                    if other not in self._taken:
                        shared[other] = shared.get(other, 0) + (OWN_VALUE if is_own else 1)
        return max(
            shared,
            key=lambda o: (shared[o], o.name == node.name, self._texts.of(o) == self._texts.of(node)),
            default=None,
        )

    def _match_by_name(self, *, same_op: bool) -> None:
        for name, node in self._ours.items():
            namesake = self._theirs.get(name)
            if node in self.pairs or namesake is None or namesake in self._taken:
                continue
            if node.op == namesake.op or not same_op:
                self._pair(node, namesake)


def node_digests(nodes: Iterable[Node], attrs_of: Callable[[Node], dict[str, str]]) -> dict[Node, bytes]:
    """A digest of the work of each node and of all that it reads, without names."""
    digests: dict[Node, bytes] = {}
    expanded: set[Node] = set()
    for start in nodes:
        path = [start]
        while path:
            node = path[-1]
            if node not in expanded:
                expanded.add(node)
                read = (*(value.node for value in node.inputs), *node.controls)
                path += [source for source in read if source not in expanded]
                continue
            path.pop()
            if node not in digests:
                digests[node] = _node_digest(node, digests, attrs_of(node))
    return digests


def _node_digest(node: Node, digests: Mapping[Node, bytes], attrs: dict[str, str]) -> bytes:
    """In a cycle, as of a TF1 loop, the node at which it closes counts as its op."""
    text = hashlib.blake2b(digest_size=16)
    text.update(repr((node.op, node.device, sorted(attrs.items()))).encode("utf-8", "surrogatepass"))
    for value in node.inputs:
        text.update(digests.get(value.node, value.node.op.encode("utf-8", "surrogatepass")))
        text.update(b":%d" % value.index)
    for digest in sorted(digests.get(control, b"") for control in node.controls):
        text.update(b"^" + digest)
    return text.digest()


class _FunctionDigests:
    """A digest of the work of each function, in which a call counts as the work of what it calls."""

    def __init__(self, graph: Graph) -> None:
        self._functions = graph.library.functions
        self._known: dict[str, str] = {}
        self._depth = 0

    def all(self) -> Iterator[tuple[str, str]]:
        for name in self._functions:
            yield name, self._of(name)

    def _of(self, name: str) -> str:
        if name in self._known or name not in self._functions:
            return self._known.get(name, name)
        if self._depth > DEEPEST:
            return NAME_MARKS.sub("", name)
        self._depth += 1
        self._known[name] = NAME_MARKS.sub("", name)  # for a function that calls itself
        function = self._functions[name]
        ends = [*function.args.values(), *function.ends]
        digests = node_digests([*function.nodes.values(), *ends], lambda node: _attr_texts(node, self._of))
        work = [digests[end] for end in ends], sorted(digests.values())
        self._known[name] = hashlib.blake2b(repr(work).encode(), digest_size=16).hexdigest()
        self._depth -= 1
        return self._known[name]


def _attr_texts(node: Node, function_name: Callable[[str], str]) -> dict[str, str]:
    try:
        attrs: Mapping[str, Attr] = node.attrs
    except MalformedGraph:
        return {}
    signature = node.signature
    known = dict(signature.with_defaults(attrs)) if signature is not None else attrs
    return {name: _text(value, function_name) for name, value in sorted(known.items()) if name not in IGNORED}


def _text(value: Attr, function_name: Callable[[str], str]) -> str:
    try:
        text = attr_text(_with_names(value, function_name))
    except Error:
        return "unreadable"
    if isinstance(value, Tensor) and (value.shape.size or 0) > MOST_ELEMENTS:  # the text ends after the first
        return f"{text} {_content_digest(value)}"
    return text


def _content_digest(tensor: Tensor) -> str:
    try:
        array = tensor.numpy()
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    except Error:
        return ""
    return f"#{hashlib.sha256(content).hexdigest()[:12]}"


def _with_names(value: Attr, function_name: Callable[[str], str]) -> Attr:
    if isinstance(value, FunctionRef):
        return replace(value, name=function_name(value.name))
    if isinstance(value, list) and value and isinstance(value[0], FunctionRef):
        return [_with_names(element, function_name) for element in value]
    return value


def _differences(node: Node, other: Node, matched: Mapping[Node, Node], texts: _AttrTexts) -> Iterator[str]:
    if node.op != other.op:
        yield f"op {node.op} → {other.op}"
    yield from _attr_differences(texts.of(node), texts.of(other))
    if node.device != other.device:
        yield f"device {node.device or 'none'} → {other.device or 'none'}"
    inputs = [(matched.get(value.node), value.index) for value in node.inputs]
    if inputs != [(value.node, value.index) for value in other.inputs]:
        yield f"inputs {_listed(map(str, node.inputs))} → {_listed(map(str, other.inputs))}"
    if {matched.get(control) for control in node.controls} != set(other.controls):
        before, after = _listed(map(str, node.controls)), _listed(map(str, other.controls))
        yield f"control inputs {before} → {after}"


def _attr_differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        before, after = ours.get(name), theirs.get(name)
        if before != after:
            yield f"{name} {_shortened(before)} → {_shortened(after)}"


def _listed(names: Iterator[str]) -> str:
    return _shortened(", ".join(names) or "none")


def _shortened(text: str | None) -> str:
    if text is None:
        return "none"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
