"""What cannot be said in another way, and why; asked before anything in the graph changes."""

from __future__ import annotations

from tfport.errors import Error
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.inline import callee

IFS, CASES, WHILES = ("If", "StatelessIf"), ("Case", "StatelessCase"), ("While", "StatelessWhile")
FUNCTIONAL = (*IFS, *CASES, *WHILES)
MOST_NODES = 1_000_000
DEEPEST = 200
_PARTS = {
    **dict.fromkeys(IFS, ("then_branch", "else_branch")),
    **dict.fromkeys(CASES, ("branches",)),
    **dict.fromkeys(WHILES, ("cond", "body")),
}


class StructureRefusal(Error):
    """A branch, a loop or a list stays as it is; the sentence says why."""


def is_expanded(node: Node) -> bool:
    """Whether a node is replaced by bodies of functions: a branch, a loop, or a plain call."""
    return node.op in FUNCTIONAL or callee(node) is not None


def parts_of(node: Node) -> list[Function]:
    """The functions whose bodies take the place of a node, in the order of its attributes."""
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
    """The types of what a branch or a loop answers."""
    types = node.attrs.get("T" if node.op in WHILES else "Tout")
    return [t for t in types if isinstance(t, DType)] if isinstance(types, list) else []


def is_stateful(functions: list[Function]) -> bool:
    """Whether running these can matter beyond their results."""
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
    """Raise the reason why the bodies of a branch or loop cannot take its place."""
    if node.op not in FUNCTIONAL:
        raise StructureRefusal(f"`{node.name}` is {node.op or 'missing'}, no branch or loop")
    _counts_agree(node)
    sizes: dict[str, int] = {}
    total = sum(_size(function, (), sizes) for function in parts_of(node))
    if total > MOST_NODES:
        raise StructureRefusal(
            f"`{node.name}` would become {total} nodes, and more than {MOST_NODES} are too many"
        )


def _function(node: Node, ref: FunctionRef) -> Function:
    function = node.graph.library.functions.get(ref.name)
    if function is None:
        raise StructureRefusal(f"`{node.name}` calls {ref.name}, which the model does not define")
    return function


def _counts_agree(node: Node) -> None:
    """A loop hands on as many tensors as it takes; the sides of a branch answer as many as it says."""
    given = len(node.inputs) - (node.op not in WHILES)
    parts = parts_of(node)
    if lost := next((o for o in node.read_outputs if not 0 <= o.index < len(types_of(node))), None):
        raise StructureRefusal(f"`{lost.uses[0].name}` reads `{lost}`, and there is no such result")
    for i, function in enumerate(parts):
        wanted = 1 if node.op in WHILES and i == 0 else len(types_of(node))
        taken, answered = len(function.arguments), len(function.results)
        if taken != given:
            raise StructureRefusal(f"`{node.name}` passes {given} tensors; {function.name} takes {taken}")
        if answered != wanted:
            raise StructureRefusal(
                f"`{node.name}` wants {wanted} results; {function.name} returns {answered}"
            )
    if node.op in WHILES and not given:
        raise StructureRefusal(f"`{node.name}` is a loop without variables")


def _size(function: Function, around: tuple[str, ...], sizes: dict[str, int]) -> int:
    """How many nodes a body becomes when all that it calls is put in place."""
    if function.name in around:
        raise StructureRefusal(f"{function.name} calls itself, and a graph without functions cannot")
    if len(around) > DEEPEST:
        raise StructureRefusal(f"{around[0]} calls functions more than {DEEPEST} deep")
    if function.name not in sizes:
        inside = (*around, function.name)
        called = [part for node in function if is_expanded(node) for part in parts_of(node)]
        sizes[function.name] = len(function) + sum(_size(part, inside, sizes) for part in called)
    return sizes[function.name]
