"""Move nodes of a graph into a new function, for a functional node to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Node, Value
from tfport.graph.reach import in_order

Origin = Callable[[Value], Value | None]
"""Maps a value from outside to the value that is passed for it, and a value made inside to None."""


def inside_of(
    results: Sequence[Value], waits: Sequence[Node], origin: Origin
) -> tuple[list[Node], list[Value]]:
    """The nodes that results need inside, and the values that they need from outside."""
    nodes: dict[Node, None] = {}
    outer: dict[Value, None] = {}
    values = list(results)
    stack = [node for node in waits if not _is_start(node, origin)]
    while values or stack:
        if values:
            value = values.pop()
            if (passed := origin(value)) is not None:
                outer[passed] = None
                continue
            stack.append(value.node)
        node = stack.pop()
        if node not in nodes:
            nodes[node] = None
            values += node.inputs
            stack += [c for c in node.controls if not _is_start(c, origin)]
    return list(nodes), list(outer)


def made_function(
    graph: Graph,
    name: str,
    passed: Sequence[Value],
    results: Sequence[Value],
    waits: Sequence[Node],
    origin: Origin,
) -> Function:
    """Add a function to the library that computes `results` from the values passed to it."""
    definition = pb.OpDef(name=_free(graph, name))
    for i, value in enumerate(passed):
        definition.input_arg.add(name=f"arg_{i}", type=value.dtype.base.number)
    for i, value in enumerate(results):
        definition.output_arg.add(name=f"ret_{i}", type=value.dtype.base.number)
    function = Function(definition, graph.ops, graph.library)
    for i, arg in enumerate(definition.input_arg):
        function.args[arg.name] = Argument(function, arg, i)
    arguments = {value: function.args[f"arg_{i}"].output(0) for i, value in enumerate(passed)}
    copies = _copied(function, results, waits, origin, arguments)
    for i, value in enumerate(results):
        node = function.returns[f"ret_{i}"] = Node(function, f"ret_{i}", RETURN)
        node.set_inputs([_moved(value, origin, arguments, copies)])
    ends = [copies[node] for node in waits if node in copies]
    for node in dict.fromkeys([*ends, *(copy for copy in copies.values() if copy.is_stateful)]):
        definition.control_output.append(node.name)
        function.control_returns[node.name] = end = Node(function, node.name, CONTROL_RETURN)
        end.set_controls([node])
    definition.is_stateful = any(node.is_stateful for node in function)
    graph.library.functions[definition.name] = function
    return function


def _copied(
    function: Function,
    results: Sequence[Value],
    waits: Sequence[Node],
    origin: Origin,
    arguments: Mapping[Value, Value],
) -> dict[Node, Node]:
    nodes, _ = inside_of(results, waits, origin)
    copies: dict[Node, Node] = {}
    for node in in_order(nodes[0].graph, nodes) if nodes else []:
        attrs = {key: value for key, value in node.attrs.items() if key != "_class"}
        copies[node] = function.new_node(function.free_name(node.name), node.op, attrs, node.device)
    for node, copy in copies.items():
        copy.set_inputs([_moved(value, origin, arguments, copies) for value in node.inputs])
        copy.set_controls([copies[c] for c in node.controls if c in copies])
    return copies


def _moved(
    value: Value, origin: Origin, arguments: Mapping[Value, Value], copies: Mapping[Node, Node]
) -> Value:
    outer = origin(value)
    return arguments[outer] if outer is not None else copies[value.node].output(value.index)


def _is_start(node: Node, origin: Origin) -> bool:
    """Whether waiting for a node means waiting for the start of the function."""
    if any(origin(value) is not None for value in node.outputs[:2]):
        return True
    return node.op == "Identity" and not node.controls and origin(node.inputs[0]) is not None


def _free(graph: Graph, name: str) -> str:
    base = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    free, n = base, 0
    while free in graph.library.functions or graph.ops.get(free) is not None:
        n += 1
        free = f"{base}_{n}"
    return free
