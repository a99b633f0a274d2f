"""Bidirectional and TimeDistributed: layers around a layer."""

from __future__ import annotations

from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import layer_config
from tfport.frontends.keras.layer import find_layer, layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.recurrent import RnnCall, RnnOptions
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors, map_structure
from tfport.graph.building.arrays import concat, reduce, reshape, reverse
from tfport.graph.building.sizes import sizes

ZERO_IF_MASKED, ZERO_IF_MASKED_IN_TENSORFLOW = (2, 4, 0), (2, 2, 4)
"""Since these versions, masked steps of Bidirectional are zeros."""


@layer("Bidirectional", wraps="layer backward_layer")
def bidirectional(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, layer: Json, backward_layer: Json = None, merge_mode: str | None = "concat",
    num_constants: int | None = None,
) -> Any:  # fmt: skip
    forward = b.sublayer("forward_layer", _direction(b, layer))
    backward = b.sublayer(
        "backward_layer", _direction(b, backward_layer or layer, backward=not backward_layer)
    )
    x = next(iter(flat_tensors(sequences)))
    call, counted = (
        RnnCall(sequences, initial_state, mask, constants),
        RnnOptions(num_constants=num_constants),
    )
    states = call.states(counted)
    half = len(states) // 2
    also: dict[str, Any] = {"mask": mask}
    if shared := call.constant_tensors(counted):
        also["constants"] = shared
    y, *last = _as_list(b.call(forward, x, initial_state=states[:half] or None, **also))
    y_back, *last_back = _as_list(b.call(backward, x, initial_state=states[half:] or None, **also))
    options = forward.config.config
    if options.get("return_sequences"):
        y_back = reverse(b, y_back, 0 if options.get("time_major") else 1).with_mask(y_back.mask)
    merged = _merged(b, y, y_back, merge_mode)
    outputs = [*merged, *last, *last_back]
    return outputs if len(outputs) > 1 else outputs[0]


def _direction(b: LayerBuilder, stored: Json, *, backward: bool = False) -> Json:
    """The layer of one direction, `backward` for the other one; masked steps of sequences are zeros."""
    child = layer_config(stored, b.model.where)
    config = dict(child.config)
    if backward:
        config["go_backwards"] = b.version.major >= 3 or not config.get("go_backwards")
    first = ZERO_IF_MASKED_IN_TENSORFLOW if b.version.is_tensorflow else ZERO_IF_MASKED
    declared = find_layer(child)
    if declared is not None and "zero_output_for_mask" in declared.options and b.version.numbers >= first:
        config["zero_output_for_mask"] = bool(config.get("return_sequences"))
    return {**stored, "config": config}


def _as_list(outputs: Any) -> list[LayerTensor]:
    return list(flat_tensors(outputs))


def _merged(b: LayerBuilder, y: LayerTensor, y_back: LayerTensor, mode: str | None) -> list[LayerTensor]:
    if mode is None:
        return [y, y_back]
    if mode == "concat":
        both = concat(b, [y, y_back], -1)
    elif mode == "mul":
        both = b.Mul(y, y_back)
    elif mode in ("sum", "ave"):
        both = b.Add(y, y_back)
        both = b.RealDiv(both, 2.0) if mode == "ave" else both
    else:
        raise b.refuse(f"its merge_mode `{mode}` is unknown")
    return [both.with_mask(y.mask)]


@layer("TimeDistributed", wraps="layer")
def time_distributed(b: LayerBuilder, x: Any, *, layer: Json) -> Any:
    """The layer for each time step: batch and time become one axis."""
    child = b.sublayer("layer", layer)
    first = next(iter(flat_tensors(x)))
    mask = first.mask
    steps = map_structure(lambda part: _joined(b, part), x)
    outputs = b.call(child, steps)
    return map_structure(lambda y: _separated(b, y, first, mask), outputs)


def _joined(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """(batch, time, …) as (batch * time, …); a mask of the time alone does not concern the inner layer."""
    rows = reshape(b, x, (None, *sizes(b, x)[2:]))
    inner = x.mask
    return rows.with_mask(None if inner is None or inner.rank < 3 else _joined(b, inner.with_mask(None)))


def _separated(b: LayerBuilder, y: LayerTensor, x: LayerTensor, mask: LayerTensor | None) -> LayerTensor:
    """(batch * time, …) as (batch, time, …) of the input."""
    around, inner = sizes(b, x)[:2], sizes(b, y)[1:] if None in y.shape[1:] else list(y.shape[1:])
    outer = [None, around[1]] if x.shape[1] is not None or x.shape[0] is None else [around[0], None]
    whole = reshape(b, y, (*outer, *inner))
    whole = LayerTensor(whole.value, (*x.shape[:2], *y.shape[1:]))
    if y.mask is not None and b.version.major < 3:
        return whole.with_mask(_separated(b, y.mask.with_mask(None), x, None))
    if mask is not None and b.version.major < 3:
        while mask.rank > 2:
            mask = reduce(b, "Any", mask, [-1])
    return whole.with_mask(mask)
