"""Which values of a graph are lists of tensors, where they come from, and what is done with them.

Lists that can meet, in a Merge say, are one group; a group that cannot be said in
another way is refused here. Branches and loops must be those of TF1 by now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tfport.fix.structure.function_bodies import ENTERS, MERGES, SWITCHES
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.graph.dtypes import VARIANT, DType
from tfport.graph.edit import constant
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.shapes import UNKNOWN, Shape

EXITS, NEXTS, ALIASES = ("Exit", "RefExit"), ("NextIteration", "RefNextIteration"), ("Identity", "IdentityN")
HANDS_ON = (*ALIASES, *ENTERS, *EXITS, *NEXTS, *MERGES, "Switch", "RefSwitch")
MAKERS = {  # and which input says the shape of the elements
    "TensorListReserve": 0, "EmptyTensorList": 0, "TensorListFromTensor": 1, "TensorListScatter": 2,
    "TensorListScatterV2": 2, "TensorListSplit": 1,
}  # fmt: skip
CHANGES = ("TensorListSetItem", "TensorListPushBack", "TensorListScatterIntoExistingList")
READS = (
    "TensorListGetItem", "TensorListStack", "TensorListGather", "TensorListLength", "TensorListConcat",
    "TensorListConcatV2",
)  # fmt: skip


@dataclass(eq=False)
class ListGroup:
    """Lists that can meet, with all that touches them."""

    makers: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    changes: list[Node] = field(default_factory=list)
    reads: list[Node] = field(default_factory=list)
    hands_on: list[Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.makers[0].name

    @property
    def dtype(self) -> DType:
        dtype = self.makers[0].attrs.get("element_dtype")
        if not isinstance(dtype, DType):
            raise StructureRefusal(f"`{self.name}` does not say of what it is a list")
        return dtype

    @property
    def element_shape(self) -> Shape:
        """The shape of the elements as far as constants tell it where lists are made and stacked."""
        told = [shape_at(maker, MAKERS[maker.op]) for maker in self.makers]
        if told[0].size is None:
            told += [shape_at(node, 1) for node in self.reads if node.op == "TensorListStack"]
        return _together(told)


def list_groups(graph: Graph) -> list[ListGroup]:
    """All lists of a graph, or the reason why they stay."""
    for node in graph:
        if node.op.startswith("TensorList") and node.op not in (*MAKERS, *CHANGES, *READS):
            raise StructureRefusal(f"`{node.name}` ({node.op}): nothing does the same to a TensorArray")
    makers = [node for node in graph if node.op in MAKERS]
    boss: dict[Value, Value] = {}
    for maker in makers:
        _follow(maker, boss)
    groups: dict[Value, ListGroup] = {}
    for value in boss:
        groups.setdefault(_boss(value, boss), ListGroup()).values.append(value)
    for node in graph:
        _sort_in(node, boss, groups)
    for group in groups.values():
        if group.dtype == VARIANT:
            raise StructureRefusal(f"`{group.name}` is a list of lists")
    return list(groups.values())


def handed_on(node: Node, value: Value) -> list[Value]:
    """The outputs of a node that are the same list."""
    if node.op == "IdentityN":
        return [node.output(i) for i, given in enumerate(node.inputs) if given is value]
    if node.op in SWITCHES:
        return [node.output(0), node.output(1)] if node.inputs[0] is value else []
    return [node.output(0)]


def known(value: Value) -> object:
    """The number that a value always is, in whatever turn or branch it is read; None if nobody can tell."""
    while value.node.op in ("Identity", *ENTERS, *SWITCHES) and value.node.inputs:
        value = value.node.inputs[0]
    tensor = constant(value)
    return tensor.numpy().item() if tensor is not None and tensor.shape.size == 1 else None


def is_invariant(value: Value) -> bool:
    """Whether a value is the same in each turn of the loop where it is read."""
    while value.node.op in ("Identity", *SWITCHES) and value.node.inputs:
        value = value.node.inputs[0]
    return constant(value) is not None or (
        value.node.op in ENTERS and value.node.attrs.get("is_constant") is True
    )


def shape_at(node: Node, place: int) -> Shape:
    """The shape that an input of a node says, where it is a constant."""
    value = node.inputs[place]
    while value.node.op in ("Identity", *ENTERS, *SWITCHES) and value.node.inputs:
        value = value.node.inputs[0]
    tensor = constant(value)
    if tensor is None or tensor.shape.rank == 0:
        return UNKNOWN
    return Shape(tuple(None if size < 0 else int(size) for size in tensor.numpy().tolist()))


def _together(shapes: list[Shape]) -> Shape:
    dims = None
    for shape in shapes:
        if dims is None or shape.dims is None:
            dims = shape.dims if dims is None else dims
        elif len(dims) != len(shape.dims):
            return UNKNOWN
        else:
            dims = tuple(b if a is None else a for a, b in zip(dims, shape.dims, strict=True))
    return Shape(dims)


def _follow(maker: Node, boss: dict[Value, Value]) -> None:
    start = maker.output(0)
    boss.setdefault(start, start)
    stack = [start]
    while stack:
        value = stack.pop()
        for following in _after(value):
            if following not in boss:
                boss[following] = following
                stack.append(following)
            boss[_boss(following, boss)] = _boss(value, boss)


def _after(value: Value) -> Iterator[Value]:
    for user in value.uses:
        if user.op in HANDS_ON:
            yield from handed_on(user, value)
        elif user.op in CHANGES and user.inputs[0] is value:
            yield user.output(0)


def _boss(value: Value, boss: dict[Value, Value]) -> Value:
    while boss[value] is not value:
        boss[value] = boss[boss[value]]
        value = boss[value]
    return value


def _sort_in(node: Node, boss: dict[Value, Value], groups: dict[Value, ListGroup]) -> None:
    """Put a node to the lists that it touches, or say why it must not touch them."""
    if node.op in MAKERS:
        groups[_boss(node.output(0), boss)].makers.append(node)
    lists = [value for value in node.inputs if value in boss]
    touches = node.op in CHANGES or node.op in READS
    if touches and (not node.inputs or node.inputs[0] not in boss):
        raise StructureRefusal(f"`{node.name}` is given a list, and nothing here makes that")
    if not lists:
        return
    group = groups[_boss(lists[0], boss)]
    if touches and len(lists) == 1:
        (group.changes if node.op in CHANGES else group.reads).append(node)
    elif node.op in HANDS_ON:
        if node.op in MERGES and len(lists) != len(node.inputs):
            raise StructureRefusal(f"`{node.name}` merges a list with what nothing here makes")
        for one in dict.fromkeys(_boss(value, boss) for value in lists):
            groups[one].hands_on.append(node)
    else:
        raise StructureRefusal(f"`{node.name}` ({node.op}) reads the list of `{group.name}`")
