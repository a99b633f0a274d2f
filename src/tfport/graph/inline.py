"""A call replaced by the body of the function that it calls.

The answers, the order of effects and every name of the caller stay as they were:
the call becomes a node of the same name that only passes the results on, so that
signatures, feeds and fetches find them. Everything is checked before anything
changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import INVALID
from tfport.graph.graph import MOST_OUTPUTS, Argument, Function, Node, Value
from tfport.graph.node import WHOLE

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_ENTERS = ("Enter", "RefEnter")
_SWITCHES = ("Switch", "RefSwitch", "_SwitchN")
_COLOCATED = "loc:@"


def callee(call: Node) -> Function | None:
    """The function that a plain call runs, where the program defines it."""
    functions = call.graph.library.functions
    if call.op in CALLS and isinstance(target := call.attrs.get("f"), FunctionRef):
        return functions.get(target.name)
    return functions.get(call.op) if call.op else None


def inline(call: Node) -> list[Node]:
    """Put the body of the called function in place of the call; return the new nodes.

    What the call waited for, the body's first nodes wait for, through one NoOp. What
    waited for the call waits for its effects and results: those are the control
    returns, or in a function of TF1, which has none, whatever is stateful.
    """
    function = callee(call)
    if function is None:
        raise MalformedGraph(f"`{call.name}` calls no function that the model defines")
    passed, attrs = _checked(call, function)
    before = _before(call, function)
    moved = _copy(function, call, attrs)
    for node, copy in moved.items():
        copy.set_inputs(_moved(node, moved, passed))
        waits = [moved[c] for c in node.controls if c in moved]
        first = not waits and not any(v.node in moved for v in node.inputs)
        # a constant need not wait, unless it stands in a branch or a loop
        copy.set_controls(waits + before * (first and (copy.op != "Const" or call.graph.has_branches)))
    results = [value for node in function.returns.values() for value in _moved(node, moved, passed)]
    _pass_on(call, function, results, moved, before)
    return [*before, *moved.values()]


def _checked(call: Node, function: Function) -> tuple[dict[Value, Value], dict[str, Attr]]:
    """What the call passes: a value for each argument, and attributes; or why it cannot be inlined."""
    attrs = {**function.signature.defaults, **function.attrs, **call_attrs(call)}
    counts = [arg.count(attrs) or 0 for arg in function.args.values()]
    if sum(counts) != len(call.inputs):
        raise MalformedGraph(
            f"`{call.name}` passes {len(call.inputs)} tensors; {function.name} takes {sum(counts)}"
        )
    if lost := next((p for node in function for p in _placeholders(node.attrs) if p not in attrs), None):
        raise MalformedGraph(f"`{call.name}` gives {function.name} no value for its attribute {lost}")
    for value in (value for node in function for value in node.inputs):
        _length(value, call, function, attrs)
    results = sum(_length(value, call, function, attrs) for value in function.results)
    if len(call.outputs) != results or not all(v.is_placed for v in call.read_outputs):
        raise MalformedGraph(
            f"`{call.name}` has {len(call.outputs)} results; {function.name} returns {results}"
        )
    if any(v.dtype == INVALID for v in call.outputs):
        raise MalformedGraph(f"`{call.name}` does not say of which types its results are")
    pairs = zip(function.args.values(), counts, strict=True)
    arguments = (arg.output(i) for arg, count in pairs for i in range(count))
    return dict(zip(arguments, call.inputs, strict=True)), attrs


def _length(value: Value, call: Node, function: Function, attrs: Mapping[str, Attr]) -> int:
    """How many tensors a value of the body is, once the call has given its attributes."""
    node, port = value.node, value.port
    known: int | None = None
    if isinstance(node, Argument) and value.is_placed:
        known = 1 if value.index < (node.count(attrs) or 0) else None
    elif function.find(node.name) is node:
        if value.is_placed or (port and port[1] != WHOLE and isinstance(call.graph, Function)):
            known = 1
        elif isinstance(node, Argument):
            known = node.count(attrs)
        elif port and port[1] == WHOLE and node.signature:
            known = node.signature.length_of(port[0], substitute(node.attrs, attrs))
    if known is None or known > MOST_OUTPUTS:
        what = node.op or f"`{node.name}`"
        raise MalformedGraph(f"{function.name} cannot be inlined: nobody has defined the outputs of {what}")
    return known


def call_attrs(call: Node) -> dict[str, Attr]:
    """The attributes that a call gives to a generic body."""
    target = call.attrs.get("f")
    return target.attrs if call.op in CALLS and isinstance(target, FunctionRef) else call.attrs


def _placeholders(attrs: Mapping[str, Attr]) -> list[str]:
    found = []
    for value in attrs.values():
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Placeholder):
                found.append(element.name)
            elif isinstance(element, FunctionRef):
                found += _placeholders(element.attrs)
    return found


def substitute(attrs: Mapping[str, Attr], given: Mapping[str, Attr]) -> dict[str, Attr]:
    """Attributes of a body with each placeholder replaced by what the call gives."""
    return {name: _substituted(value, given) for name, value in attrs.items()}


def _substituted(value: Attr, given: Mapping[str, Attr]) -> Attr:
    if isinstance(value, Placeholder):
        return given.get(value.name, value)
    if isinstance(value, FunctionRef):
        return FunctionRef(value.name, substitute(value.attrs, given))
    return [_substituted(element, given) for element in value] if isinstance(value, list) else value


def _before(call: Node, function: Function) -> list[Node]:
    """One node that waits for all that the call waited for, where anything in the body must."""
    controls = list(call.controls)
    if call.graph.has_branches:  # a call in a branch not taken, or in a loop, runs when its inputs are there
        controls += [_arrival(value, call) for value in call.inputs]
    if not controls or not len(function):
        return []
    return [call.graph.add("NoOp", name=f"{call.name}/before", controls=controls, device=call.device)]


def _arrival(value: Value, call: Node) -> Node:
    """What runs when a value arrives; a Switch itself runs whichever way it sends its value."""
    if value.node.op not in _SWITCHES:
        return value.node
    attrs = {"T": value.dtype.base}
    return call.graph.add("Identity", [value], attrs, name=f"{call.name}/arrival", device=call.device)


def _copy(function: Function, call: Node, attrs: Mapping[str, Attr]) -> dict[Node, Node]:
    """Each node of the body with its copy in the caller's graph, which reads nothing yet."""
    graph = call.graph
    names = {node: graph.free_name(f"{call.name}/{node.name}") for node in function}
    moved = {}
    for node, name in names.items():
        own = substitute(node.attrs, attrs)
        if node.op in _ENTERS:  # loops of the same frame would be one loop
            own["frame_name"] = f"{call.name}/{own.get('frame_name', '')}"
        if "_class" in own:
            own["_class"] = _colocation(own["_class"], function, names)
        moved[node] = graph.new_node(name, node.op, own, node.device or call.device, node.record)
    return moved


def _colocation(places: Attr, function: Function, names: Mapping[Node, str]) -> list[Attr]:
    """Where a node wants to be, with the names of the copies; places outside the body are let go."""
    kept = []
    for place in places if isinstance(places, list) else []:
        if not isinstance(place, str) or not place.startswith(_COLOCATED):
            kept.append(place)
        elif beside := function.nodes.get(place.removeprefix(_COLOCATED)):
            kept.append(_COLOCATED + names[beside])
    return kept


def _moved(node: Node, moved: Mapping[Node, Node], passed: Mapping[Value, Value]) -> list[Value]:
    """What the copy of a node reads, list after list."""
    out: list[Value] = []
    for value in node.inputs:
        port = None if value.is_placed else value.port
        if port and port[1] == WHOLE and value.node not in moved:
            out += [given for argument, given in passed.items() if argument.node is value.node]
        elif value in passed:
            out.append(passed[value])
        elif port and port[1] == WHOLE:
            copy = moved[value.node]
            length = (copy.signature.length_of(port[0], copy.attrs) if copy.signature else None) or 0
            out += [copy.output_at(port[0], i) for i in range(length)]
        else:
            copy = moved[value.node]
            out.append(copy.output_at(*port) if port else copy.output(value.index))
    return out


def _pass_on(
    call: Node, function: Function, results: Sequence[Value], moved: Mapping[Node, Node], before: list[Node]
) -> None:
    """Turn the call into what passes the results on, for those who know it by name or wait for it.

    Who reads a result reads it directly, unless there is something to wait for.
    """
    effects = [moved[c] for r in function.control_returns.values() for c in r.controls if c in moved]
    if not function.control_returns:
        effects = [copy for copy in moved.values() if copy.is_stateful]
    waits = [*effects, *(before or call.controls)]
    types = [value.dtype for value in call.outputs]
    if not waits:
        call.replace_by(results, [call])
    op = ("NoOp", "Identity", "IdentityN")[min(len(types), 2)]
    call.become(op, {"T": types if len(types) > 1 else types[0]} if types else {})
    call.set_inputs(results)
    call.set_controls(waits)
    if isinstance(call.graph, Function) and not call.users:
        call.graph.remove(call)
