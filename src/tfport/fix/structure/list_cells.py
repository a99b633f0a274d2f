"""Lists of one element, which is set repeatedly, become plain tensors.

Keras passes on the last output of a recurrent layer this way. Before it is set, the element is
zeros of the list's element shape; an unknown size is 0 here, and an error in a list.
"""

from __future__ import annotations

import numpy as np

from tfport.fix.structure.function_bodies import Site
from tfport.fix.structure.list_groups import ListGroup, known
from tfport.graph.dtypes import INT32, STRING
from tfport.graph.graph import Node
from tfport.graph.tensors import Tensor

MOST_ELEMENTS = 1 << 20


def is_cell(group: ListGroup) -> bool:
    """Whether all lists of a group have one element, and all indices are 0."""
    made = all(maker.op == "TensorListReserve" and known(maker.inputs[1]) == 1 for maker in group.makers)
    return (
        made
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
