"""Replace a node by the result of a rule; readers, names and control dependencies stay the same."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.rule import Replacement
from tfport.graph.building.node_builder import Refusal
from tfport.graph.graph import Node, Value

Values = list[Value | None]
SHAPES = "_output_shapes"


def replacement_values(node: Node, replacement: Replacement) -> Values:
    """The replacement of each output; raises the refusal of a rule."""
    if isinstance(replacement, Refusal):
        raise replacement
    if isinstance(replacement, Value):
        values: Values = [replacement]
    elif isinstance(replacement, Node):
        values = [replacement.output(value.index) for value in node.outputs] if node.outputs else []
    else:
        values = [result.output(0) if isinstance(result, Node) else result for result in replacement]
    for value in node.read_outputs:
        if value.index >= len(values) or values[value.index] is None:
            raise MalformedGraph(f"a rule returns nothing for `{value}`, which `{value.uses[0]}` reads")
    return values


def put_in_place(node: Node, values: Values, added: Sequence[Node], facts: Facts, *, named: bool) -> Values:
    """Replace the node's outputs by `values`; a `named` node keeps its name.

    Returns the values that are the outputs now.
    """
    for index, value in enumerate(values):
        shape = facts.shape(node.output(index))
        if value is not None and value.node in added and shape.dims is not None:
            facts.set_shape(value, shape)
    _wait(node, added)
    if (heir := _heir(node, values, added, named)) is not None:
        now = [node.output(v.index) if v is not None and v.node is heir else v for v in values]
        _become(node, heir)
        return now
    ends = list(dict.fromkeys(value.node for value in values if value is not None))
    ends = ends or [new for new in added if not new.users]
    node.replace_by([value or node.output(i) for i, value in enumerate(values)], ends)
    if not named:
        node.graph.remove(node)
        return values
    kept = [value for value in values if value is not None]
    if kept != values[: len(kept)]:
        raise MalformedGraph(
            f"`{node.name}` must keep its name, but a rule replaces only some of its outputs"
        )
    types = [value.dtype.base for value in kept]
    node.become_identity(types)
    node.set_inputs(kept)
    node.set_controls(() if kept else ends)
    return values


def _wait(node: Node, added: Sequence[Node]) -> None:
    """Let the first of the new nodes wait for the control inputs of the old node."""
    if not node.controls:
        return
    among = set(added)
    for new in added:
        if new.op != "Const" and not any(value.node in among for value in new.inputs):
            new.set_controls([*new.controls, *node.controls])


def _heir(node: Node, values: Values, added: Sequence[Node], named: bool) -> Node | None:
    """The new node that has every required output of the old node at the same index, if any."""
    present = [index for index, value in enumerate(values) if value is not None]
    asked = present if named else [value.index for value in node.read_outputs]
    heirs = {value.node if (value := values[i]) is not None else None for i in asked}
    heir = heirs.pop() if len(heirs) == 1 else None
    if heir is None or heir not in added:
        return None
    return heir if all(values[index] is heir.output(index) for index in asked) else None


def _become(node: Node, heir: Node) -> None:
    """Turn the node into the heir: it keeps its name and readers, and gets those of the heir."""
    outputs = [node.output(value.index) for value in heir.outputs]
    inputs, controls, op, attrs = heir.inputs, heir.controls, heir.op, dict(heir.attrs)
    shapes = node.attrs.get(SHAPES)
    if isinstance(shapes, list | tuple) and len(shapes) == len(heir.outputs):
        attrs[SHAPES] = shapes  # the shapes of the outputs do not change
    heir.set_inputs(())
    heir.set_controls(())
    heir.replace_by(outputs, [node])
    node.graph.remove(heir)
    node.become(op, attrs)
    node.set_inputs(inputs)
    node.set_controls([*node.controls, *controls])
