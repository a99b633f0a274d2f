"""Functional branches and loops: their functions and types, and whether they can be lowered.

Conversions ask before they change anything in the graph, and raise a `StructureRefusal` if they cannot.
"""

from __future__ import annotations

from tfport.errors import Error
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.inline import callee
from tfport.graph.op_facts.kinds import CASES, FUNCTIONAL, IFS, WHILES

MOST_NODES = 1_000_000
DEEPEST = 200
_PARTS = {
    **dict.fromkeys(IFS, ("then_branch", "else_branch")),
    **dict.fromkeys(CASES, ("branches",)),
    **dict.fromkeys(WHILES, ("cond", "body")),
}


class StructureRefusal(Error):
    """Why a branch, loop, list, table or variable cannot be converted."""


def is_expanded(node: Node) -> bool:
    """Whether a node is replaced by bodies of functions: a branch, a loop, or a plain call."""
    return node.op in FUNCTIONAL or callee(node) is not None


def parts_of(node: Node) -> list[Function]:
    """The functions whose bodies replace a node, in the order of its attributes."""
    if node.op not in FUNCTIONAL:
        called = callee(node)
        return [called] if called is not None else []
    return [_function(node, ref) for ref in refs_of(node)]


def refs_of(node: Node) -> list[FunctionRef]:
    """The functions that a branch or a loop names."""
    named: list[Attr] = []
    for name in _PARTS[node.op]:
        value = node.attrs.get(name)
        named += value if isinstance(value, list) else [value]
    refs = [ref for ref in named if isinstance(ref, FunctionRef)]
    if len(refs) != len(named) or not refs:
        raise StructureRefusal(f"`{node.name}` does not name the functions of a {node.op}")
    return refs


def types_of(node: Node) -> list[DType]:
    """The dtypes of the results of a branch or a loop."""
    types = node.attrs.get("T" if node.op in WHILES else "Tout")
    return [t for t in types if isinstance(t, DType)] if isinstance(types, list) else []


def is_stateful(functions: list[Function]) -> bool:
    """Whether these functions have effects besides their results."""
    seen: set[str] = set()
    stack = list(functions)
    while stack:
        function = stack.pop()
        if function.name in seen:
            continue
        seen.add(function.name)
        for node in function:
            if is_expanded(node):
                stack += parts_of(node)
            elif node.is_stateful:
                return True
    return False


def can_be_lowered(node: Node) -> None:
    """Raise a refusal if the bodies of a branch or loop cannot replace it."""
    if node.op not in FUNCTIONAL:
        raise StructureRefusal(f"`{node.name}` is {node.op or 'missing'}, not a branch or loop")
    _counts_agree(node)
    sizes: dict[str, int] = {}
    total = sum(_size(function, (), sizes) for function in parts_of(node))
    if total > MOST_NODES:
        raise StructureRefusal(f"`{node.name}` would become {total} nodes; the limit is {MOST_NODES}")


def _function(node: Node, ref: FunctionRef) -> Function:
    function = node.graph.library.functions.get(ref.name)
    if function is None:
        raise StructureRefusal(f"`{node.name}` calls {ref.name}, which the model does not define")
    return function


def _counts_agree(node: Node) -> None:
    """Refuse a node whose numbers of arguments or results do not match its functions."""
    passed = len(node.inputs) - (node.op not in WHILES)
    parts = parts_of(node)
    if lost := next((o for o in node.read_outputs if not 0 <= o.index < len(types_of(node))), None):
        raise StructureRefusal(f"`{lost.uses[0].name}` reads `{lost}`, which does not exist")
    for i, function in enumerate(parts):
        wanted = 1 if node.op in WHILES and i == 0 else len(types_of(node))
        taken, answered = len(function.arguments), len(function.results)
        if taken != passed:
            raise StructureRefusal(
                f"`{node.name}` passes {passed} tensors, but {function.name} expects {taken}"
            )
        if answered != wanted:
            raise StructureRefusal(
                f"`{node.name}` expects {wanted} results, but {function.name} returns {answered}"
            )
    if node.op in WHILES and not passed:
        raise StructureRefusal(f"`{node.name}` is a loop without loop variables")


def _size(function: Function, around: tuple[str, ...], sizes: dict[str, int]) -> int:
    """The number of nodes of a body after inlining everything that it calls."""
    if function.name in around:
        raise StructureRefusal(f"{function.name} calls itself; a graph without functions cannot be recursive")
    if len(around) > DEEPEST:
        raise StructureRefusal(f"{around[0]} nests calls more than {DEEPEST} deep")
    if function.name not in sizes:
        inside = (*around, function.name)
        called = [part for node in function if is_expanded(node) for part in parts_of(node)]
        sizes[function.name] = len(function) + sum(_size(part, inside, sizes) for part in called)
    return sizes[function.name]
