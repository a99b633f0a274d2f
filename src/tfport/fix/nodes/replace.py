"""One node's place taken by what a rule made for it: users, names and order stay as they were."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.rule import Made, Refusal
from tfport.graph.graph import Node, Value

Values = list[Value | None]
SHAPES = "_output_shapes"


def outcome(node: Node, made: Made) -> Values:
    """What takes the place of each output; a refusal is raised."""
    if isinstance(made, Refusal):
        raise made
    if isinstance(made, Value):
        values: Values = [made]
    elif isinstance(made, Node):
        values = [made.output(value.index) for value in node.outputs] if node.outputs else []
    else:
        values = [one.output(0) if isinstance(one, Node) else one for one in made]
    for value in node.read_outputs:
        if value.index >= len(values) or values[value.index] is None:
            raise MalformedGraph(f"a rule makes nothing of `{value}`, which `{value.uses[0]}` reads")
    return values


def put_in_place(node: Node, values: Values, made: Sequence[Node], facts: Facts, *, named: bool) -> Values:
    """Let `values` be what the node's outputs were; `named`: somebody knows the node by its name.

    The answer is what the outputs are now.
    """
    for place, value in enumerate(values):
        shape = facts.shape(node.output(place))
        if value is not None and value.node in made and shape.dims is not None:
            facts.tell(value, shape)
    _wait(node, made)
    if (heir := _heir(node, values, made, named)) is not None:
        now = [node.output(v.index) if v is not None and v.node is heir else v for v in values]
        _become(node, heir)
        return now
    ends = list(dict.fromkeys(value.node for value in values if value is not None))
    ends = ends or [one for one in made if not one.users]
    node.replace_by([value or node.output(i) for i, value in enumerate(values)], ends)
    if not named:
        node.graph.remove(node)
        return values
    kept = [value for value in values if value is not None]
    if kept != values[: len(kept)]:
        raise MalformedGraph(f"`{node.name}` is known by its name, and a rule gives only some of its outputs")
    types = [value.dtype.base for value in kept]
    op = ("NoOp", "Identity", "IdentityN")[min(len(types), 2)]
    node.become(op, {"T": types if len(types) > 1 else types[0]} if types else {})
    node.set_inputs(kept)
    node.set_controls(() if kept else ends)
    return values


def _wait(node: Node, made: Sequence[Node]) -> None:
    """What the node waited for, the first of what was made waits for."""
    if not node.controls:
        return
    among = set(made)
    for one in made:
        if one.op != "Const" and not any(value.node in among for value in one.inputs):
            one.set_controls([*one.controls, *node.controls])


def _heir(node: Node, values: Values, made: Sequence[Node], named: bool) -> Node | None:
    """The node among those made that answers all that is asked of the old one, output for output."""
    there = [place for place, value in enumerate(values) if value is not None]
    asked = there if named else [value.index for value in node.read_outputs]
    heirs = {value.node if (value := values[i]) is not None else None for i in asked}
    heir = heirs.pop() if len(heirs) == 1 else None
    if heir is None or heir not in made:
        return None
    return heir if all(values[place] is heir.output(place) for place in asked) else None


def _become(node: Node, heir: Node) -> None:
    """Go on as the heir, under the old name, for the old users and the heir's."""
    outputs = [node.output(value.index) for value in heir.outputs]
    inputs, controls, op, attrs = heir.inputs, heir.controls, heir.op, dict(heir.attrs)
    if SHAPES in node.attrs:
        attrs[SHAPES] = node.attrs[SHAPES]  # the outputs are what they were
    heir.set_inputs(())
    heir.set_controls(())
    heir.replace_by(outputs, [node])
    node.graph.remove(heir)
    node.become(op, attrs)
    node.set_inputs(inputs)
    node.set_controls([*node.controls, *controls])
