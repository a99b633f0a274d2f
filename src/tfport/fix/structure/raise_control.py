"""Raise TF1's branches and loops to If and While with functions: the inverse of lowering.

The runtime recognizes the structures (`runtime.ops.control.switch_merge`). The innermost come
first, so that the next ones contain only plain nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tfport.fix.structure.function_bodies import Site, drop_lost_colocations
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Node, Value
from tfport.graph.op_facts.kinds import ENTERS, EXITS, MERGES, SWITCHES
from tfport.graph.reach import in_order
from tfport.graph.shapes import UNKNOWN
from tfport.runtime.ops.control.conditions import Literal, condition_of
from tfport.runtime.ops.control.switch_merge import Branch, LoopFrame, Structures


def raise_control(graph: Graph) -> int:
    """Raise every branch and loop; returns their number. Refuses if one cannot be raised."""
    count = 0
    while units := list(dict.fromkeys(Structures.of(set(graph)).units.values())):
        innermost = [unit for unit in units if _is_innermost(unit)]
        if not innermost:
            raise StructureRefusal("each remaining branch or loop contains another one")
        for unit in innermost:
            if _has_removed_merges(unit):  # by raising another unit; the next round finds what is left of it
                continue
            if isinstance(unit, LoopFrame):
                _raise_loop(graph, unit)
            elif isinstance(unit, Branch):
                _raise_branch(graph, unit)
            count += 1
    _nothing_is_left(graph)
    drop_lost_colocations(graph)
    return count


def _nothing_is_left(nodes: Iterable[Node]) -> None:
    for node in sorted(nodes, key=lambda node: node.name):
        if node.op in (*SWITCHES, *MERGES, *ENTERS, *EXITS):
            raise StructureRefusal(f"`{node.name}` ({node.op}) is not part of a recognized branch or loop")


def _has_removed_merges(unit: object) -> bool:
    assert isinstance(unit, LoopFrame | Branch)
    return any(not merge.inputs for merge in unit.merges)


def _is_innermost(unit: object) -> bool:
    if isinstance(unit, LoopFrame):
        own = {*unit.merges, *unit.enters}
        return not any(node.op in (*MERGES, *ENTERS) and node not in own for node in _nodes_in(unit))
    assert isinstance(unit, Branch)
    return not any(node.op in (*MERGES, *EXITS) for side in unit.sides.values() for node in side)


def _no_references(values: Iterable[Value]) -> None:
    for value in values:
        if value.dtype.is_ref:
            raise StructureRefusal(f"`{value}` is a reference to a variable, which functions cannot take")


def _no_effect_is_lost(nodes: Iterable[Node]) -> None:
    for node in sorted(nodes, key=lambda node: node.name):
        if node.is_stateful:
            raise StructureRefusal(f"no result of the loop depends on `{node.name}` ({node.op})")


def _nodes_in(frame: LoopFrame) -> set[Node]:
    """All nodes of a frame, from its Enter nodes to its exits."""
    inside = set(frame.enters)
    stack = list(inside)
    while stack:
        for user in stack.pop().users:
            if user not in inside and user.op not in EXITS:
                inside.add(user)
                stack.append(user)
    return inside


def _raise_loop(graph: Graph, frame: LoopFrame) -> None:
    fixed = [enter for enter in frame.enters if enter not in frame.starts]
    outer = [enter.inputs[0] for enter in (*frame.starts, *fixed)]
    _no_references(outer)
    entered = [merge.output(0) for merge in frame.merges] + [enter.output(0) for enter in fixed]
    same: dict[Value, Value] = {value: value for value in entered}
    for merge, start, switches in zip(frame.merges, frame.starts, frame.switches, strict=True):
        same[start.output(0)] = merge.output(0)
        for switch in switches:
            same[switch.output(0)] = same[switch.output(1)] = merge.output(0)
    assert frame.condition is not None
    ends = [following.inputs[0] for following in frame.nexts]
    waits = [node for following in frame.nexts for node in following.controls]
    in_frame = _nodes_in(frame)
    _reads_nothing_around(in_frame, set(frame.enters))
    results = [*ends, *entered[len(ends) :]]
    inside = {*inside_of([frame.condition], [], same.get)[0], *inside_of(results, waits, same.get)[0]}
    _no_effect_is_lost(in_frame - inside)
    _nothing_is_left(inside)
    name = frame.name
    condition = new_function(graph, f"{name}_cond", entered, [frame.condition], [], same.get)
    body = new_function(graph, f"{name}_body", entered, results, waits, same.get)
    attrs: dict[str, Attr] = {
        "T": [value.dtype.base for value in outer],
        "cond": FunctionRef(condition.name),
        "body": FunctionRef(body.name),
        "output_shapes": [*(merge.output(0).shape for merge in frame.merges), *(UNKNOWN for _ in fixed)],
        "parallel_iterations": frame.enters[0].attrs.get("parallel_iterations", 10),
    }
    op = _by_state("While", condition, body)
    controls = dict.fromkeys(node for enter in frame.enters for node in enter.controls)
    loop = graph.add(op, outer, attrs, name=name, controls=controls, device=frame.enters[0].device)
    for i, switches in enumerate(frame.switches):
        for left in [u for switch in switches for u in switch.output(0).uses if u.op in EXITS]:
            left.become("Identity", {"T": outer[i].dtype.base})
            left.set_inputs([loop.output(i)])
    _remove(graph, in_frame)


def _reads_nothing_around(nodes: set[Node], enters: set[Node]) -> None:
    for node in nodes - enters:
        for value in node.inputs:
            if value.node not in nodes:
                raise StructureRefusal(f"`{node.name}` reads `{value}` from outside of its loop")


def _raise_branch(graph: Graph, branch: Branch) -> None:
    merges = branch.merges
    origins = {side: _origin(branch, side) for side in (True, False)}
    taken = {side: [_taken(branch, merge, side) for merge in merges] for side in (True, False)}
    parts = {side: inside_of(taken[side], [], origins[side]) for side in (True, False)}
    passed = list(dict.fromkeys(value for side in (True, False) for value in parts[side][1]))
    _no_references(passed)
    copied = {node for side in (True, False) for node in parts[side][0]}
    _nothing_is_left(copied)
    name = branch.name
    functions = {
        side: new_function(graph, f"{name}_{word}", passed, taken[side], [], origins[side])
        for side, word in ((True, "then"), (False, "else"))
    }
    attrs: dict[str, Attr] = {
        "Tcond": BOOL,
        "Tin": [value.dtype.base for value in passed],
        "Tout": [merge.output(0).dtype.base for merge in merges],
        "then_branch": FunctionRef(functions[True].name),
        "else_branch": FunctionRef(functions[False].name),
    }
    op, inputs = _by_state("If", *functions.values()), [branch.condition, *passed]
    device = merges[0].device
    chosen = graph.add(op, inputs, attrs, name=f"{name}/if", controls=branch.controls, device=device)
    for i, merge in enumerate(merges):
        _becomes_result(branch, merge, chosen.output(i))
    _remove_unread(graph, copied | _only_there(branch))


def _origin(branch: Branch, side: bool) -> Origin:
    """The values that come from outside of one side: those of its switches, and those that always run."""

    def origin(value: Value) -> Value | None:
        node = value.node
        if node.op in SWITCHES and condition_of(node) is branch.condition:
            return node.inputs[0]
        return None if Literal(branch.condition, side) in branch.conditions.of(node) else value

    return origin


def _taken(branch: Branch, merge: Node, side: bool) -> Value:
    wanted = Literal(branch.condition, side)
    return next(value for value in merge.inputs if wanted in branch.conditions.of_value(value))


def _becomes_result(branch: Branch, merge: Node, result: Value) -> None:
    """Turn the Merge into an Identity of the result; its value_index follows from the condition."""
    site = Site.of(merge)
    if merge.output(1).uses:
        indices = [
            site.constant(merge.inputs.index(_taken(branch, merge, side)), INT32, result.node, "place")
            for side in (True, False)
        ]
        picked = site.add("Select", [branch.condition, *indices], {"T": INT32}, name="value_index")
        merge.output(1).replace_by(picked.output(0))
    merge.become("Identity", {"T": result.dtype.base})
    merge.set_inputs([result])
    merge.set_controls(())


def _by_state(op: str, *functions: Function) -> str:
    return op if any(function.definition.is_stateful for function in functions) else f"Stateless{op}"


def _remove(graph: Graph, nodes: set[Node]) -> None:
    for node in nodes:
        node.set_inputs(())
        node.set_controls(())
    for node in nodes:
        graph.remove(node)


def _only_there(branch: Branch) -> set[Node]:
    """The switches of a condition, and nodes without effects that run on one side."""
    switches = set(_switches_of(branch.condition))
    stack = list(switches)
    while stack:
        for user in stack.pop().users:
            runs = {literal.condition for literal in branch.conditions.of(user)}
            if user not in switches and branch.condition in runs and not user.is_stateful:
                switches.add(user)
                stack.append(user)
    return switches


def _switches_of(condition: Value) -> Iterator[Node]:
    for user in condition.uses:
        if user.op == "Identity":
            yield from _switches_of(user.output(0))
        elif user.op in SWITCHES and user.inputs[1] is condition:
            yield user


def _remove_unread(graph: Graph, nodes: set[Node]) -> None:
    """Remove those of the nodes that nothing reads any more."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node in nodes and not node.users:
            nodes.remove(node)
            stack += [*(value.node for value in node.inputs), *node.controls]
            graph.remove(node)


# The functions for a functional node to call, with copies of the nodes of the graph.

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


def new_function(
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
