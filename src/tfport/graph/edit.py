"""Changes to a whole graph that keep its meaning: inline calls, fold constants.

What to evaluate constants with is the caller's business: `fold` takes a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.reach import in_order
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALLS = ("PartitionedCall", "StatefulPartitionedCall")

Evaluate = Callable[[Node, list["NDArray[Any]"]], "Sequence[NDArray[Any]] | None"]


def callee(call: Node) -> Function | None:
    """The function that a plain call runs, where the program defines it."""
    functions = call.graph.library.functions
    if call.op in CALLS and isinstance(target := call.attrs.get("f"), FunctionRef):
        return functions.get(target.name)
    return functions.get(call.op)


def inline(call: Node) -> list[Node]:
    """Put the body of the called function in place of the call; return the new nodes.

    What the call waited for, the body's first nodes now wait for, through one NoOp;
    what waited for the call waits for the body's control returns, and for its
    results, through another.
    """
    function = callee(call)
    if function is None:
        raise MalformedGraph(f"`{call.name}` calls no function that the model defines")
    graph, attrs = call.graph, call_attrs(call)
    before = [graph.add("NoOp", name=f"{call.name}/before", controls=call.controls)] if call.controls else []
    moved: dict[Node, Node] = {}
    for node in function:
        name = graph.free_name(f"{call.name}/{node.name}")
        moved[node] = graph.new_node(name, node.op, substitute(node.attrs, attrs), node.device or call.device)
        moved[node].rest = node.rest
    values = _passed(function, call)
    for node, copy in moved.items():
        copy.set_inputs([_moved(v, moved, values) for v in node.inputs])
        copy.set_controls(
            [moved[c] for c in node.controls if c in moved] + (before if not node.inputs else [])
        )
    results = [_moved(v, moved, values) for v in function.results]
    last = [moved[c] for r in function.control_returns.values() for c in r.controls if c in moved]
    last += [v.node for v in results if v.node not in last] + before
    after = [graph.add("NoOp", name=f"{call.name}/after", controls=last)] if call.control_users else []
    call.replace_by(results, after)
    graph.remove(call)
    return [*before, *moved.values(), *after]


def call_attrs(call: Node) -> dict[str, Attr]:
    """The attributes that a call gives to a generic body."""
    target = call.attrs.get("f")
    return target.attrs if call.op in CALLS and isinstance(target, FunctionRef) else call.attrs


def substitute(attrs: Mapping[str, Attr], given: Mapping[str, Attr]) -> dict[str, Attr]:
    """Attributes of a body with each placeholder replaced by what the call gives."""
    return {k: given.get(v.name, v) if isinstance(v, Placeholder) else v for k, v in attrs.items()}


def _passed(function: Function, call: Node) -> dict[Value, Value]:
    arguments = function.arguments
    if len(arguments) != len(call.inputs):
        raise MalformedGraph(
            f"`{call.name}` passes {len(call.inputs)} tensors; {function.name} takes {len(arguments)}"
        )
    return dict(zip(arguments, call.inputs, strict=True))


def _moved(value: Value, moved: Mapping[Node, Node], values: Mapping[Value, Value]) -> Value:
    if value in values:
        return values[value]
    if value.node not in moved or (value.node.signature is None and value.index):
        raise MalformedGraph(f"`{value}` cannot be inlined: nobody has defined {value.node.op or 'it'}")
    return moved[value.node].output(value.index)


def fold(graph: Graph, evaluate: Evaluate) -> int:
    """Replace nodes whose inputs are all constants by what `evaluate` makes of them; how many went.

    `evaluate` gets a node and its inputs as arrays, and answers with its outputs,
    or None to leave the node as it is. Stateful nodes are not asked about.
    """
    folded = 0
    for node in in_order(graph):
        constants = [t for value in node.inputs if (t := constant(value)) is not None]
        if not constants or len(constants) < len(node.inputs) or node.controls or node.is_stateful:
            continue
        results = evaluate(node, [t.numpy() for t in constants])
        if results is not None:
            _become_constants(node, results)
            folded += 1
    return folded


def constant(value: Value) -> Tensor | None:
    """The tensor that a value always is, where a Const node says so."""
    tensor = value.node.attrs.get("value")
    return tensor if value.node.op == "Const" and isinstance(tensor, Tensor) else None


def _become_constants(node: Node, results: Sequence[NDArray[Any]]) -> None:
    graph = node.graph
    made = []
    for output, array in zip(node.outputs, results, strict=True):
        attrs = {"dtype": output.dtype, "value": Tensor.from_numpy(array, output.dtype)}
        made.append(graph.add("Const", (), attrs, name=f"{node.name}/folded", device=node.device))
    node.replace_by([n.outputs[0] for n in made], made)
    graph.remove(node)
