"""Replace a function call by the body of the function.

The results, the order of side effects and all names of the caller stay the same:
the call becomes a node with the same name that only passes on the results, so that
signatures, feeds and fetches still work. All checks come before the first change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import INVALID
from tfport.graph.graph import MOST_OUTPUTS, WHOLE, Argument, Function, Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES, CALLS, ENTERS, TENSORRT_ENGINE

_COLOCATED = "loc:@"


def callee(call: Node) -> Function | None:
    """The function that a call runs, if the program defines it."""
    functions = call.graph.library.functions
    if (target := _target(call)) is not None:
        return functions.get(target.name)
    return functions.get(call.op) if call.op else None


def _target(call: Node) -> FunctionRef | None:
    """The function that an attribute of a call names."""
    if call.op == TENSORRT_ENGINE:
        return engine_function(call)
    target = call.attrs.get("f") if call.op in CALLS else None
    return target if isinstance(target, FunctionRef) else None


NO_SEGMENT = "the graph has the engine but not the function that it was built from"
"""Why nothing but TensorRT runs a node."""


def engine_function(engine: Node) -> FunctionRef | None:
    """The function with the nodes that a TensorRT engine replaced; None if the graph does not have it."""
    target = engine.attrs.get("segment_func")
    name = target.name if isinstance(target, FunctionRef) else ""
    name = name or str(engine.attrs.get("segment_funcdef_name") or "")  # until TensorFlow 2.0
    for known in (name, f"{name}_native_segment"):
        if name and known in engine.graph.library.functions:
            return FunctionRef(known, target.attrs if isinstance(target, FunctionRef) else {})
    return None


def is_engine_with_function(node: Node) -> bool:
    """Whether a node is a TensorRT engine whose function can be called instead."""
    return node.op == TENSORRT_ENGINE and engine_function(node) is not None


def inline(call: Node) -> list[Node]:
    """Replace a call by the body of the called function; return the new nodes.

    The first nodes of the body wait for the control inputs of the call, through a NoOp.
    Nodes that waited for the call wait for its side effects and results: the control
    returns or, in a TF1 function without any, all stateful nodes.
    """
    function = callee(call)
    if function is None:
        raise MalformedGraph(f"`{call.name}` calls a function that the model does not define")
    passed, attrs = _checked(call, function)
    before = _before(call, function)
    moved = _copy(function, call, attrs)
    for node, copy in moved.items():
        copy.set_inputs(_moved(node, moved, passed))
        waits = [moved[c] for c in node.controls if c in moved]
        first = not waits and not any(v.node in moved for v in node.inputs)
        # a constant need not wait, unless it is in a branch or a loop
        copy.set_controls(waits + before * (first and (copy.op != "Const" or call.graph.has_branches)))
    results = [value for node in function.returns.values() for value in _moved(node, moved, passed)]
    _pass_on(call, function, results, moved, before)
    return [*before, *moved.values()]


def _checked(call: Node, function: Function) -> tuple[dict[Value, Value], dict[str, Attr]]:
    """The value for each argument and the attributes; an error if the call cannot be inlined."""
    attrs = {**function.signature.defaults, **function.attrs, **call_attrs(call)}
    counts = [arg.count(attrs) or 0 for arg in function.args.values()]
    if sum(counts) != len(call.inputs):
        raise MalformedGraph(
            f"`{call.name}` passes {len(call.inputs)} tensors; {function.name} takes {sum(counts)}"
        )
    if lost := next((p for node in function for p in _placeholders(node.attrs) if p not in attrs), None):
        raise MalformedGraph(f"`{call.name}` passes no value for the attribute {lost} of {function.name}")
    for value in (value for node in function for value in node.inputs):
        _length(value, call, function, attrs)
    results = sum(_length(value, call, function, attrs) for value in function.results)
    if len(call.outputs) != results or not all(v.is_placed for v in call.read_outputs):
        raise MalformedGraph(
            f"`{call.name}` has {len(call.outputs)} results; {function.name} returns {results}"
        )
    if any(v.dtype == INVALID for v in call.outputs):
        raise MalformedGraph(f"the types of the results of `{call.name}` are unknown")
    pairs = zip(function.args.values(), counts, strict=True)
    arguments = (arg.output(i) for arg, count in pairs for i in range(count))
    return dict(zip(arguments, call.inputs, strict=True)), attrs


def _length(value: Value, call: Node, function: Function, attrs: Mapping[str, Attr]) -> int:
    """The number of tensors of a value in the body, with the attributes of the call."""
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
        raise MalformedGraph(f"{function.name} cannot be inlined: the outputs of {what} are unknown")
    return known


def call_attrs(call: Node) -> dict[str, Attr]:
    """The attributes that a call passes to a generic body."""
    target = _target(call)
    return call.attrs if target is None else target.attrs


def _placeholders(attrs: Mapping[str, Attr]) -> list[str]:
    names = []
    for value in attrs.values():
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Placeholder):
                names.append(element.name)
            elif isinstance(element, FunctionRef):
                names += _placeholders(element.attrs)
    return names


def substitute(attrs: Mapping[str, Attr], values: Mapping[str, Attr]) -> dict[str, Attr]:
    """Attributes of a body with each placeholder replaced by the attribute of the call."""
    return {name: _substituted(value, values) for name, value in attrs.items()}


def _substituted(value: Attr, values: Mapping[str, Attr]) -> Attr:
    if isinstance(value, Placeholder):
        return values.get(value.name, value)
    if isinstance(value, FunctionRef):
        return FunctionRef(value.name, substitute(value.attrs, values))
    return [_substituted(element, values) for element in value] if isinstance(value, list) else value


def _before(call: Node, function: Function) -> list[Node]:
    """A node that waits for all that the call waited for, if the body needs one."""
    controls = list(call.controls)
    if call.graph.has_branches:  # a call in a branch or a loop runs when its inputs are available
        controls += [_arrival(value, call) for value in call.inputs]
    if not controls or not len(function):
        return []
    return [call.graph.add("NoOp", name=f"{call.name}/before", controls=controls, device=call.device)]


def _arrival(value: Value, call: Node) -> Node:
    """A node that runs when a value arrives; a Switch runs even if it sends its value elsewhere."""
    if value.node.op not in ALL_SWITCHES:
        return value.node
    attrs = {"T": value.dtype.base}
    return call.graph.add("Identity", [value], attrs, name=f"{call.name}/arrival", device=call.device)


def _copy(function: Function, call: Node, attrs: Mapping[str, Attr]) -> dict[Node, Node]:
    """The nodes of the body with their copies in the graph of the caller, still without inputs."""
    graph = call.graph
    names = {node: graph.free_name(f"{call.name}/{node.name}") for node in function}
    moved = {}
    for node, name in names.items():
        own = substitute(node.attrs, attrs)
        if node.op in ENTERS:  # loops with the same frame name would be one loop
            own["frame_name"] = f"{call.name}/{own.get('frame_name', '')}"
        if "_class" in own:
            own["_class"] = _colocation(own["_class"], function, names)
        moved[node] = graph.new_node(name, node.op, own, node.device or call.device, node.record)
    return moved


def _colocation(groups: Attr, function: Function, names: Mapping[Node, str]) -> list[Attr]:
    """The colocation of a node, with the names of the copies; nodes outside the body are dropped."""
    kept = []
    for group in groups if isinstance(groups, list) else []:
        if not isinstance(group, str) or not group.startswith(_COLOCATED):
            kept.append(group)
        elif beside := function.nodes.get(group.removeprefix(_COLOCATED)):
            kept.append(_COLOCATED + names[beside])
    return kept


def _moved(node: Node, moved: Mapping[Node, Node], passed: Mapping[Value, Value]) -> list[Value]:
    """The inputs of the copy of a node."""
    out: list[Value] = []
    for value in node.inputs:
        port = None if value.is_placed else value.port
        if port and port[1] == WHOLE and value.node not in moved:
            out += [tensor for argument, tensor in passed.items() if argument.node is value.node]
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
    """Turn the call into a node that passes on the results, for users that wait for it or use its name.

    Other users read a result directly, unless there is something to wait for.
    """
    effects = [moved[c] for r in function.control_returns.values() for c in r.controls if c in moved]
    if not function.control_returns:
        effects = [copy for copy in moved.values() if copy.is_stateful]
    waits = [*effects, *(before or call.controls)]
    types = [value.dtype for value in call.outputs]
    if not waits:
        call.replace_by(results, [call])
    call.become_identity(types)
    call.set_inputs(results)
    call.set_controls(waits)
    if isinstance(call.graph, Function) and not call.users:
        call.graph.remove(call)
