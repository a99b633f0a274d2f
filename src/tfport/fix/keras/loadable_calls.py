"""Calls in a form that the first releases of Keras 3 load, with the same answers.

Up to 3.2 an inner model that is called several times cannot be an output: a linear activation after it can.
Up to 3.6 a call that uses a result of a later call waits for it only in the form of Keras 2, which has one
argument: a merging layer takes its tensors as a list, where an operator takes two.
Up to 3.1 the key of a GetItem cannot have several parts: Take picks elements of one axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.fix.keras.config_writer import early_calls, shape_of
from tfport.fix.keras.dialect import Dialect
from tfport.frontends.keras.config import SEQUENTIAL, LayerCall, LayerConfig, ModelConfig, TensorRef
from tfport.frontends.keras.indexing import SLICE
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.layer import is_operation
from tfport.frontends.keras.tensor import flat_tensors, map_structure

MERGING_OPERATORS = ("Add", "Subtract", "Multiply", "Maximum", "Minimum")
"""Operators on two tensors that a layer of the same name computes."""
GET_ITEM, TAKE = "GetItem", "Take"


def with_outputs_after_models(
    model: ModelConfig, dialect: Dialect, instance: LayerInstance | None
) -> dict[str, str]:
    """Put a linear activation between inner models and outputs where the target needs one.

    The activation gets the name of the model, as outputs are named after their layers. Returns the new name
    of each inner model, with its old name.
    """
    renamed: dict[str, str] = {}
    if dialect.loads_outputs_of_inner_models:
        return renamed
    for layer in [layer for layer in model.layers if layer.model is not None]:
        assert layer.model is not None
        inner = instance.children.get(layer.name) if instance is not None else None
        renamed |= with_outputs_after_models(layer.model, dialect, inner)
        refs = list(dict.fromkeys(ref for ref in flat_tensors(model.outputs) if ref.layer == layer.name))
        if refs and layer.class_name != SEQUENTIAL and len(layer.calls) > 1:
            renamed |= _with_activation_after(layer, refs, model, instance)
    return renamed


def _with_activation_after(
    layer: LayerConfig, refs: list[TensorRef], model: ModelConfig, instance: LayerInstance | None
) -> dict[str, str]:
    name, new_name = layer.name, f"{layer.name}_before_output"
    dtype = shape_of(refs[0], model, instance)[1]
    outputs = {ref: TensorRef(name, number) for number, ref in enumerate(refs)}
    model.outputs = map_structure(lambda ref: outputs.get(ref, ref), model.outputs)
    assert layer.model is not None
    layer.name = layer.model.name = new_name
    layer.config = {**layer.config, "name": new_name}
    for other in model.layers:
        other.calls = [
            LayerCall(_renamed(call.args, name, new_name), _renamed(call.kwargs, name, new_name))
            for call in other.calls
        ]
    options = {"name": name, "activation": "linear", "dtype": dtype}
    calls = [LayerCall((TensorRef(new_name, ref.call, ref.output),)) for ref in refs]
    model.layers.append(LayerConfig("Activation", name, options, calls))
    return {new_name: name}


def _renamed(arguments: Any, name: str, new_name: str) -> Any:
    """Arguments of a call with another name for one of the layers that they refer to."""
    return map_structure(
        lambda ref: (
            TensorRef(new_name, ref.call, ref.output)
            if isinstance(ref, TensorRef) and ref.layer == name
            else ref
        ),
        arguments,
    )


def with_merging_layers(model: ModelConfig, dialect: Dialect, instance: LayerInstance | None) -> list[str]:
    """Write operators whose calls must wait as layers; returns the layers that changed."""
    if dialect.waits_for_calls:
        return []
    changed = []
    early = early_calls(model)
    for layer in model.layers:
        if layer.model is not None:
            inner = instance.children.get(layer.name) if instance is not None else None
            changed += with_merging_layers(layer.model, dialect, inner)
        elif is_operation(layer) and any(call in early for call in layer.calls):
            dtype = _common_dtype(layer, model, instance)
            if dtype is not None:
                layer.calls = [LayerCall((list(call.args),)) for call in layer.calls]
                layer.module = layer.registered_name = ""
                layer.config = {"name": layer.name, "dtype": dtype}
                changed.append(layer.name)
    return changed


def _common_dtype(layer: LayerConfig, model: ModelConfig, instance: LayerInstance | None) -> str | None:
    """The type of all tensors that an operator is called with, if the merging layer computes the same."""
    tensors = [ref for call in layer.calls for ref in call.args]
    if layer.class_name not in MERGING_OPERATORS or any(call.kwargs for call in layer.calls):
        return None
    if not all(isinstance(ref, TensorRef) for ref in tensors):
        return None
    described = [shape_of(ref, model, instance) for ref in tensors]
    ranks, dtypes = {len(shape) for shape, _ in described}, {dtype for _, dtype in described}
    return dtypes.pop() if len(ranks) == len(dtypes) == 1 else None


def with_taken_elements(
    model: ModelConfig, dialect: Dialect, instance: LayerInstance | None
) -> tuple[list[str], list[str]]:
    """Write each GetItem with a key of several parts as a Take; returns what changed, and refusals."""
    changed: list[str] = []
    refused: list[str] = []
    for layer in [] if dialect.loads_listed_keys else model.layers:
        if layer.model is not None:
            inner = instance.children.get(layer.name) if instance is not None else None
            for names, more in zip(
                (changed, refused), with_taken_elements(layer.model, dialect, inner), strict=True
            ):
                names += more
        elif is_operation(layer) and layer.class_name == GET_ITEM and any(map(_listed_key, layer.calls)):
            takes = [take for call in layer.calls if (take := _taken(call, model, instance)) is not None]
            axes = {axis for _, axis in takes}
            if len(takes) < len(layer.calls) or len(axes) > 1:
                why = f"{dialect.release.name} loads no index of several parts"
                refused.append(f"layer `{layer.name}` ({GET_ITEM}): {why}")
                continue
            layer.class_name = layer.registered_name = TAKE
            layer.config = {"name": layer.name, "axis": axes.pop()}
            layer.calls = [call for call, _ in takes]
            changed.append(layer.name)
    return changed, refused


def _listed_key(call: LayerCall) -> bool:
    return isinstance(_arguments(call).get("key"), list | tuple)


def _arguments(call: LayerCall) -> dict[str, Any]:
    return {**dict(zip(("x", "key"), call.args, strict=False)), **call.kwargs}


def _taken(
    call: LayerCall, model: ModelConfig, instance: LayerInstance | None
) -> tuple[LayerCall, int] | None:
    """The call of Take that picks what a key does along one axis, and the axis; None if there is none."""
    arguments = _arguments(call)
    ref, key = arguments.get("x"), arguments.get("key")
    if not isinstance(ref, TensorRef) or not isinstance(key, list | tuple):
        return None
    shape = shape_of(ref, model, instance)[0]
    whole = [_positions(item) == slice(None) for item in key]
    if whole.count(False) != 1 or len(key) > len(shape):
        return None
    axis = whole.index(False)
    size, positions = shape[axis], _positions(key[axis])
    if isinstance(positions, slice) and size is not None:
        return LayerCall((ref, list(range(size))[positions])), axis
    if isinstance(positions, int):
        return LayerCall((ref, positions % size if size else positions)), axis
    return None


def _positions(item: Any) -> int | slice | None:
    """A part of a stored key; None if it is neither a number nor a slice of numbers."""
    if isinstance(item, Mapping) and item.get("class_name") == SLICE:
        parts = [item["config"].get(part) for part in ("start", "stop", "step")]
        return slice(*parts) if all(part is None or isinstance(part, int) for part in parts) else None
    return item if isinstance(item, int) else None
