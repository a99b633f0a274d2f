"""The tensor lists of a graph: where they are created, and the nodes that change and read them.

Lists that can meet, for example in a Merge, form one group. A group that cannot be converted is
refused here. Branches and loops must be lowered to those of TF1 before.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.graph.constants import constant
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.startup.dataclass import dataclass, field

ALIASES = ("Identity", "IdentityN")
PASS_THROUGH = (*ALIASES, *ENTERS, *EXITS, *NEXTS, *MERGES, *SWITCHES)
_CARRIERS = ("Identity", *ENTERS, *ALL_SWITCHES)
MAKERS = {  # and which input is the shape of the elements
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
    """Lists that can meet, with all nodes that use them."""

    makers: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    changes: list[Node] = field(default_factory=list)
    reads: list[Node] = field(default_factory=list)
    pass_through: list[Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.makers[0].name

    @property
    def dtype(self) -> DType:
        dtype = self.makers[0].attrs.get("element_dtype")
        if not isinstance(dtype, DType):
            raise StructureRefusal(f"`{self.name}` does not state the dtype of its elements")
        return dtype

    @property
    def element_shape(self) -> Shape:
        """The shape of the elements that the nodes that create and stack the lists state."""
        shapes = [shape_at(maker, MAKERS[maker.op]) for maker in self.makers]
        if shapes[0].size is None:
            shapes += [shape_at(node, 1) for node in self.reads if node.op == "TensorListStack"]
        return _together(shapes)


def list_groups(graph: Graph) -> list[ListGroup]:
    """All list groups of a graph; refuses if a list cannot be converted."""
    for node in graph:
        if node.op.startswith("TensorList") and node.op not in (*MAKERS, *CHANGES, *READS):
            raise StructureRefusal(f"`{node.name}` ({node.op}) has no equivalent for a TensorArray")
    makers = [node for node in graph if node.op in MAKERS]
    parents: dict[Value, Value] = {}
    for maker in makers:
        _follow(maker, parents)
    groups: dict[Value, ListGroup] = {}
    for value in parents:
        groups.setdefault(_root(value, parents), ListGroup()).values.append(value)
    for node in graph:
        _sort_in(node, parents, groups)
    return list(groups.values())


def pass_through_outputs(node: Node, value: Value) -> list[Value]:
    """The outputs of a node that are the same list."""
    if node.op == "IdentityN":
        return [node.output(i) for i, source in enumerate(node.inputs) if source is value]
    if node.op in ALL_SWITCHES:
        return [node.output(0), node.output(1)] if node.inputs[0] is value else []
    return [node.output(0)]


def known(value: Value) -> object:
    """The number of a constant scalar, also when read inside a loop or branch; None if it is not constant."""
    tensor = constant(value.source(_CARRIERS))
    return tensor.numpy().item() if tensor is not None and tensor.shape.size == 1 else None


def is_invariant(value: Value) -> bool:
    """Whether a value is the same in each iteration of the loop where it is read."""
    source = value.source(("Identity", *ALL_SWITCHES))
    return constant(source) is not None or (
        source.node.op in ENTERS and source.node.attrs.get("is_constant") is True
    )


def shape_at(node: Node, index: int) -> Shape:
    """The shape that a constant input of a node states."""
    tensor = constant(node.inputs[index].source(_CARRIERS))
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


def _follow(maker: Node, parents: dict[Value, Value]) -> None:
    start = maker.output(0)
    parents.setdefault(start, start)
    stack = [start]
    while stack:
        value = stack.pop()
        for following in _after(value):
            if following not in parents:
                parents[following] = following
                stack.append(following)
            parents[_root(following, parents)] = _root(value, parents)


def _after(value: Value) -> Iterator[Value]:
    for user in value.uses:
        if user.op in PASS_THROUGH:
            yield from pass_through_outputs(user, value)
        elif user.op in CHANGES and user.inputs[0] is value:
            yield user.output(0)


def _root(value: Value, parents: dict[Value, Value]) -> Value:
    while parents[value] is not value:
        parents[value] = parents[parents[value]]
        value = parents[value]
    return value


def _sort_in(node: Node, parents: dict[Value, Value], groups: dict[Value, ListGroup]) -> None:
    """Add a node to the group of lists that it uses; refuses an unsupported use."""
    if node.op in MAKERS:
        groups[_root(node.output(0), parents)].makers.append(node)
    lists = [value for value in node.inputs if value in parents]
    touches = node.op in CHANGES or node.op in READS
    if touches and (not node.inputs or node.inputs[0] not in parents):
        raise StructureRefusal(f"`{node.name}` reads a list that no node of this graph creates")
    if not lists:
        return
    group = groups[_root(lists[0], parents)]
    if touches and len(lists) == 1:
        (group.changes if node.op in CHANGES else group.reads).append(node)
    elif node.op in PASS_THROUGH:
        if node.op in MERGES and len(lists) != len(node.inputs):
            raise StructureRefusal(f"`{node.name}` merges a list with one that no node of this graph creates")
        for root in dict.fromkeys(_root(value, parents) for value in lists):
            groups[root].pass_through.append(node)
    else:
        raise StructureRefusal(f"`{node.name}` ({node.op}) reads the list of `{group.name}`")
