"""Parts of a tensor by position, as `x[:, 1:, ..., None]` in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerSize, LayerTensor
from tfport.graph.building.sizes import shape_vector
from tfport.startup.dataclass import dataclass

ELLIPSIS, SLICE = "__ellipsis__", "__slice__"
"""How configurations store `...` and, in Keras 3, `start:stop:step`."""


@dataclass(frozen=True, slots=True)
class Range:
    """Positions `start:stop:step`; each a number, a computed scalar or None."""

    start: LayerSize = None
    stop: LayerSize = None
    step: LayerSize = None


def index_key(b: LayerBuilder, stored: Any) -> list[Any]:
    """A stored index as a list: numbers, `Range`s, None for a new axis, `...`, scalars."""
    items = stored if isinstance(stored, list | tuple) else [stored]
    return [_item(b, item) for item in items]


def _item(b: LayerBuilder, item: Any) -> Any:
    if isinstance(item, Mapping):
        if item.get("class_name") == ELLIPSIS:
            return ...
        parts = item.get("config", item)
        if isinstance(parts, Mapping) and {"start", "stop", "step"} >= set(parts):
            return Range(parts.get("start"), parts.get("stop"), parts.get("step"))
    elif item is None or item is ... or isinstance(item, int | LayerTensor):
        return item
    raise b.refuse(f"it takes elements at {item!r}, which tfport does not do")


def get_item(b: LayerBuilder, x: LayerTensor, key: Sequence[Any]) -> LayerTensor:
    """The elements of a tensor at an index."""
    counted = sum(1 for item in key if item is not None and item is not ...)
    if counted > x.rank:
        raise b.refuse(f"it takes elements at {counted} axes of a tensor of rank {x.rank}")
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    begins: list[LayerSize] = []
    ends: list[LayerSize] = []
    steps: list[LayerSize] = []
    dims: list[int | None] = []
    axis = 0
    for index, item in enumerate(key):
        begin: Any = item
        end: LayerSize = None
        step: LayerSize = 1
        if item is ...:
            masks["ellipsis"] |= 1 << index
            dims += x.shape[axis : axis + x.rank - counted]
            axis += x.rank - counted
            begin = 0
        elif item is None:
            masks["new_axis"] |= 1 << index
            dims.append(1)
            begin = 0
        elif isinstance(item, Range):
            begin, end, step = item.start, item.stop, item.step or 1
            masks["begin"] |= int(begin is None) << index
            masks["end"] |= int(end is None) << index
            dims.append(_length(x.shape[axis], item))
            axis += 1
        else:
            masks["shrink_axis"] |= 1 << index
            end = b.Add(item, 1) if isinstance(item, LayerTensor) else item + 1
            axis += 1
        begins.append(0 if begin is None else begin)
        ends.append(0 if end is None else end)
        steps.append(step)
    dims += x.shape[axis:]
    parts = (shape_vector(b, part) for part in (begins, ends, steps))
    node = b.node("StridedSlice", x, *parts, **{f"{name}_mask": mask for name, mask in masks.items()})
    return b.tensor(node, dims)


def _length(size: int | None, item: Range) -> int | None:
    start, stop, step = item.start, item.stop, item.step
    if isinstance(start, LayerTensor) or isinstance(stop, LayerTensor) or isinstance(step, LayerTensor):
        return None
    return None if size is None else len(range(size)[start:stop:step])
