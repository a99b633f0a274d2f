"""Store large constants as variables with a checkpoint: a GraphDef holds at most 2 GB.

The variables are restored by a saver as TF1 writes it, which every release from 1.4 on loads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfport.fix.structure.saver import DATA, RESOURCE_VARIABLE, add_saver
from tfport.formats.checkpoint.write import Tensors
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.save import written_format
from tfport.graph.state import GraphVariable, variables
from tfport.graph.tensors import Tensor

LARGE = 1 << 20
"""A constant of this many bytes is large."""
MOST_BYTES = 1 << 28
"""Large constants stay in the graph if they have no more than this together."""
OPS = (RESOURCE_VARIABLE, "ReadVariableOp", "AssignVariableOp", "RestoreV2", "NoOp")
"""What a runtime needs for variables."""


def stored_with_variables(model: Model) -> tuple[Model, Tensors | None]:
    """The model to write as a SavedModel, and the tensors of its new checkpoint, if it needs one."""
    if written_format(model) is not SAVED_MODEL or not (constants := large_constants(model)):
        return model, None
    return with_variables(model, constants)


def large_constants(model: Model) -> dict[Node, Tensor]:
    """The constants that should be variables; none if the model is small, or has a checkpoint."""
    if model.checkpoint_prefix is not None or variables(model):
        return {}
    answers = {value.node for signature in model.signatures.values() for value in model.ends_of(signature)}
    large = {
        node: value
        for node in model.graph
        if node.op == "Const" and node not in answers and not node.controls
        if isinstance(value := node.attrs.get("value"), Tensor) and _nbytes(value) >= LARGE
    }
    return large if sum(map(_nbytes, large.values())) > MOST_BYTES else {}


def with_variables(model: Model, constants: dict[Node, Tensor]) -> tuple[Model, Iterator[DATA]]:
    """A copy of the model in which these constants are variables, and the tensors of its checkpoint."""
    tensors = {node.name: tensor for node, tensor in constants.items()}
    work = model.copy()
    new = [_variable(work, name, tensor) for name, tensor in tensors.items()]
    work.meta.saver_def.CopyFrom(add_saver(work.graph, new, saves=False))
    return work, ((key, (tensor.numpy(), tensor.dtype.number)) for key, tensor in sorted(tensors.items()))


def _variable(model: Model, name: str, tensor: Tensor) -> GraphVariable:
    graph, constant, dtype = model.graph, model.graph[name], tensor.dtype
    attrs = {"dtype": dtype, "shape": tensor.shape, "container": "", "shared_name": name}
    handle = graph.add(RESOURCE_VARIABLE, (), attrs, name=f"{name}/variable")
    value = graph.add("ReadVariableOp", [handle.output(0)], {"dtype": dtype}, name=f"{name}/read")
    constant.replace_by([value.output(0)], [])
    graph.remove(constant)
    return GraphVariable(name, handle, dtype, tensor.shape, key=name)


def _nbytes(tensor: Tensor) -> int:
    if tensor.dtype == STRING:
        return 0
    return math.prod(size or 0 for size in tensor.shape.dims or ()) * tensor.dtype.numpy.itemsize
