"""Convert TensorLists to TensorArrays, which TensorFlow has had since 1.0.

The flow of the array, a number that orders its changes, replaces the list between nodes. The
array itself is a resource, and enters a loop as a constant. Outputs are the same if each element
is set once and before it is read: an element that was never set is zeros in a list, but in an
array only if the element shape is fully known, and only from TensorFlow 1.5 on. `lists_to_arrays`
returns these assumptions; a run that violates them fails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfport.fix.structure.function_bodies import Site
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.list_groups import (
    CHANGES,
    READS,
    ListGroup,
    known,
    list_groups,
    pass_through_outputs,
    shape_at,
)
from tfport.fix.structure.list_order import Waits, waits_of
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, INT32, INT64, RESOURCE, STRING, VARIANT, DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.op_facts.kinds import ENTERS, EXITS, FUNCTIONAL
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

GROWING = ("TensorListPushBack", "TensorListScatterIntoExistingList")


def lists_to_arrays(graph: Graph) -> list[str]:
    """Convert every list, or refuse before anything changes; returns the assumptions."""
    for node in graph:
        if node.op in FUNCTIONAL:
            raise StructureRefusal(
                f"`{node.name}` ({node.op}) must be lowered before its lists can be converted"
            )
    groups = list_groups(graph)
    if nested := next((group for group in groups if group.dtype == VARIANT), None):
        raise StructureRefusal(f"`{nested.name}` is a list of variants")
    cells = [group for group in groups if is_cell(group)]
    arrays = [(group, _checked(group)) for group in groups if group not in cells]
    assumptions = [_assumption(group) for group, _ in arrays]
    for group in cells:
        dtype = group.dtype
        to_cells(group)
        _retype(group, dtype, keep_shapes=False)
    for group, waits in arrays:
        _to_array(group, waits)
    return assumptions


def _checked(group: ListGroup) -> Waits:
    maker = group.makers[0]
    if maker.op == "TensorListScatterV2" and known(maker.inputs[3]) is None:
        raise StructureRefusal(f"the size of `{maker.name}` is known only at run time")
    return waits_of(group)


def _assumption(group: ListGroup) -> str:
    until = "" if group.element_shape.size is None else " (until TensorFlow 1.4)"
    return f"each element of `{group.name}` is set once, and before it is read{until}"


def _retype(group: ListGroup, dtype: DType, *, keep_shapes: bool) -> None:
    """Change the dtype of the nodes that pass lists on."""
    inside = set(group.values)
    for node in group.pass_through:
        attrs = dict(node.attrs)
        if not keep_shapes:
            attrs.pop("_output_shapes", None)
        types = attrs["T"]
        if isinstance(types, list):
            attrs["T"] = [dtype if v in inside else t for v, t in zip(node.inputs, types, strict=True)]
        else:
            attrs["T"] = dtype
        node.become(node.op, attrs)


def _to_array(group: ListGroup, waits: Waits) -> None:
    maker, dtype, shape = group.makers[0], group.dtype, group.element_shape
    for late, early in waits:
        late.set_controls([*late.controls, early])
    grows = any(
        c.op in GROWING or c.attrs.get("resize_if_index_out_of_bounds") is True for c in group.changes
    )
    users = [(node, node.inputs[0]) for node in (*group.changes, *group.reads)]
    _retype(group, FLOAT32, keep_shapes=True)
    handles = _handles(maker, _array_for(maker, dtype, shape, grows))
    for node, flow in users:
        _BECOMES[node.op](node, handles[flow], flow, dtype, shape)


def _array_for(maker: Node, dtype: DType, shape: Shape, grows: bool) -> Value:
    """Turn the node that creates a list into one that creates an array; returns its handle."""
    site = Site(maker.graph, maker.name, maker.device)
    attrs: dict[str, Attr] = {
        "dtype": dtype, "element_shape": shape, "dynamic_size": grows, "clear_after_read": False,
    }  # fmt: skip
    array = site.add("TensorArrayV3", [_size(site, maker)], attrs, name="array", controls=maker.controls)
    handle, flow = array.output(0), array.output(1)
    if maker.op in ("TensorListReserve", "EmptyTensorList"):
        maker.become("Identity", {"T": FLOAT32})
        maker.set_inputs([flow])
        return handle
    tensor = maker.inputs[0]
    if maker.op == "TensorListSplit":
        inputs, op = [handle, tensor, maker.inputs[2], flow], "TensorArraySplitV3"
    elif maker.op == "TensorListFromTensor":
        inputs, op = [handle, _count_up(site, array.inputs[0]), tensor, flow], "TensorArrayScatterV3"
    else:
        inputs, op = [handle, maker.inputs[1], tensor, flow], "TensorArrayScatterV3"
    maker.become(op, {"T": dtype})
    maker.set_inputs(inputs)
    return handle


def _size(site: Site, maker: Node) -> Value:
    """The initial number of elements of a list."""
    near = maker.inputs[0].node if maker.graph.has_branches else None
    if maker.op == "TensorListReserve":
        return maker.inputs[1]
    if maker.op == "EmptyTensorList":
        return site.constant(0, INT32, near, "none")
    if maker.op == "TensorListSplit":
        types = {"T": INT64, "out_type": INT32}
        return site.add("Size", [maker.inputs[2]], types, name="size").output(0)
    if maker.op == "TensorListFromTensor":
        types = {"T": maker.inputs[0].dtype.base, "out_type": INT32}
        shape = site.add("Shape", [maker.inputs[0]], types, name="shape").output(0)
        ends = [site.constant([at], INT32, near, "at") for at in (0, 1, 1)]
        attrs = {"T": INT32, "Index": INT32, "shrink_axis_mask": 1}
        return site.add("StridedSlice", [shape, *ends], attrs, name="size").output(0)
    if maker.op == "TensorListScatterV2" and known(maker.inputs[3]) != -1:
        return maker.inputs[3]
    zero, step = (site.constant(n, INT32, near, "const") for n in (0, 1))
    attrs = {"T": INT32, "Tidx": INT32, "keep_dims": False}
    last = site.add("Max", [maker.inputs[1], zero], attrs, name="last").output(0)
    return site.add("Add", [last, step], {"T": INT32}, name="size").output(0)


def _count_up(site: Site, size: Value) -> Value:
    """0, 1, 2 … up to a size."""
    near = size.node if site.graph.has_branches else None
    zero, step = (site.constant(n, INT32, near, "const") for n in (0, 1))
    return site.add("Range", [zero, size, step], {"Tidx": INT32}, name="places").output(0)


def _handles(maker: Node, handle: Value) -> dict[Value, Value]:
    """The handle of the array for each flow, in the frame of the flow."""
    stacks: dict[Value, tuple[Value, ...]] = {maker.output(0): (handle,)}
    entered: dict[tuple[Value, Attr], Value] = {}
    following = list(stacks)
    while following:
        flow = following.pop()
        for user in flow.uses:
            if user.op in READS:
                continue
            known_here = stacks[flow]
            if user.op in ENTERS:
                key = (known_here[-1], user.attrs["frame_name"])
                if key not in entered:
                    entered[key] = _enter(user, known_here[-1])
                known_here = (*known_here, entered[key])
            elif user.op in EXITS:
                known_here = known_here[:-1]
            for after in [user.output(0)] if user.op in CHANGES else pass_through_outputs(user, flow):
                if after not in stacks:
                    stacks[after] = known_here
                    following.append(after)
    return {flow: stack[-1] for flow, stack in stacks.items()}


def _enter(beside: Node, handle: Value) -> Value:
    attrs = {**beside.attrs, "T": RESOURCE, "is_constant": True}
    attrs.pop("_output_shapes", None)
    site = Site(beside.graph, beside.name, beside.device)
    return site.add("Enter", [handle], attrs, name="handle", controls=beside.controls).output(0)


def _write(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    _, index, item = node.inputs
    node.become("TensorArrayWriteV3", {"T": dtype})
    node.set_inputs([handle, index, item, flow])


def _push(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    item = node.inputs[1]
    size = Site.of(node).add("TensorArraySizeV3", [handle, flow], name="size").output(0)
    node.become("TensorArrayWriteV3", {"T": dtype})
    node.set_inputs([handle, size, item, flow])


def _scatter(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    _, tensor, indices = node.inputs
    node.become("TensorArrayScatterV3", {"T": dtype})
    node.set_inputs([handle, indices, tensor, flow])


def _read(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    index = node.inputs[1]
    node.become("TensorArrayReadV3", {"dtype": dtype})
    node.set_inputs([handle, index, flow])


def _stack(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    site = Site.of(node)
    size = site.add("TensorArraySizeV3", [handle, flow], name="size").output(0)
    _gathered(node, handle, _count_up(site, size), flow, dtype, shape_at(node, 1))


def _gather(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    _gathered(node, handle, node.inputs[1], flow, dtype, shape_at(node, 2))


def _gathered(node: Node, handle: Value, indices: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    node.become("TensorArrayGatherV3", {"dtype": dtype, "element_shape": shape})
    node.set_inputs([handle, indices, flow])


def _length(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    node.become("TensorArraySizeV3", {})
    node.set_inputs([handle, flow])


def _concat(node: Node, handle: Value, flow: Value, dtype: DType, shape: Shape) -> None:
    known = shape_at(node, 1) if node.op == "TensorListConcatV2" else node.attrs.get("element_shape", UNKNOWN)
    rows = Shape(known.dims[1:] if isinstance(known, Shape) and known.dims else None)
    node.become("TensorArrayConcatV3", {"dtype": dtype, "element_shape_except0": rows})
    node.set_inputs([handle, flow])


_BECOMES: dict[str, Callable[[Node, Value, Value, DType, Shape], None]] = {
    "TensorListSetItem": _write,
    "TensorListPushBack": _push,
    "TensorListScatterIntoExistingList": _scatter,
    "TensorListGetItem": _read,
    "TensorListStack": _stack,
    "TensorListGather": _gather,
    "TensorListLength": _length,
    "TensorListConcat": _concat,
    "TensorListConcatV2": _concat,
}


# Lists of one element, which is set repeatedly, become plain tensors: Keras passes on the last output of a
# recurrent layer this way. Before it is set, the element is zeros; an unknown size is 0, an error in a list.

MOST_ELEMENTS = 1 << 20


def is_cell(group: ListGroup) -> bool:
    """Whether all lists of a group have one element, and all indices are 0."""
    has_one = all(maker.op == "TensorListReserve" and known(maker.inputs[1]) == 1 for maker in group.makers)
    return (
        has_one
        and all(c.op == "TensorListSetItem" and known(c.inputs[1]) == 0 for c in group.changes)
        and all(_is_plain(node) for node in group.reads)
        and (group.element_shape.size or 0) <= MOST_ELEMENTS
    )


def _is_plain(read: Node) -> bool:
    if read.op == "TensorListGetItem":
        return known(read.inputs[1]) == 0
    return read.op in ("TensorListStack", "TensorListLength")


def to_cells(group: ListGroup) -> None:
    dtype = group.dtype
    dims = group.element_shape.dims
    sizes = (0,) if dims is None else tuple(size or 0 for size in dims)
    blank = np.full(sizes, b"", object) if dtype == STRING else np.zeros(sizes, dtype.numpy)
    for maker in group.makers:
        waits = [*maker.controls, *(value.node for value in maker.inputs)]
        maker.set_inputs(())
        maker.become("Const", {"dtype": dtype, "value": Tensor.from_numpy(blank, dtype)})
        maker.set_controls(waits if maker.graph.has_branches else maker.controls)
    for change in group.changes:
        item = change.inputs[2]
        change.become("Identity", {"T": dtype})
        change.set_inputs([item])
    for read in group.reads:
        element = read.inputs[0]
        site = Site(read.graph, read.name, read.device)
        if read.op == "TensorListGetItem":
            read.become("Identity", {"T": dtype})
            read.set_inputs([element])
        elif read.op == "TensorListStack":
            axis = site.constant(0, INT32, element.node, "axis")
            read.become("ExpandDims", {"T": dtype, "Tdim": INT32})
            read.set_inputs([element, axis])
        else:
            first_size = Tensor.from_numpy(np.array(1, np.int32), INT32)
            read.set_inputs(())
            read.become("Const", {"dtype": INT32, "value": first_size})
            read.set_controls([*read.controls, element.node])
