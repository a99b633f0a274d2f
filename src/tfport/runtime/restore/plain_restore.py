"""Restore variables without running the restore op, if it only assigns whole tensors to variables.

The restore op of a model with hundreds of variables has a thousand nodes: to trace and run them takes longer
than to read the tensors.
"""

from __future__ import annotations

from itertools import starmap

from tfport.errors import Error
from tfport.graph.model import Model
from tfport.graph.restoring import PLAIN_OPS, fits, plain_restores
from tfport.graph.state import variable_of
from tfport.runtime.implementations import BUILT_IN, OpImplementations
from tfport.runtime.state import State


def restore_plainly(model: Model, state: State, registry: OpImplementations) -> bool:
    """Restore the variables; False if the restore op has to run: it does more, or fails."""
    checkpoint, restored = model.checkpoint, plain_restores(model)
    if checkpoint is None or restored is None or _are_custom(registry):
        return False
    checkpoint.names()  # all at once: single lookups cost more
    for node, source in restored.items():
        if source[2] != node.attr("dtype") or not fits(node, source, checkpoint):
            return False
    try:
        values = [checkpoint.read(key) for key, *_ in restored.values()]
    except Error:  # the restore op says which tensor and why
        return False
    for variable, value in zip(starmap(variable_of, restored.items()), values, strict=True):
        state.variable(variable.name, variable.dtype, variable.shape.dims).assign(value)
    return True


def _are_custom(registry: OpImplementations) -> bool:
    """Whether a registry has its own kernels for what a restore op does."""
    return any(
        not PLAIN_OPS.isdisjoint((*layer.definitions, *layer.kernels, *layer.lowerings, *layer.structures))
        for layer in registry.chain()
        if layer is not BUILT_IN
    )
