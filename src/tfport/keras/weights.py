"""Give the weights of a built model the arrays of its file.

Old files list arrays by layer: those of inner layers follow, trainable ones first. New files have a path
for each object. Either way the shapes must fit; a file that lacks a weight is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import BY_LAYER, KerasFile, StoredWeight, StoredWeights
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.keras.instance import LayerInstance, WeightSlot
from tfport.keras.version import KerasVersion

if TYPE_CHECKING:
    from numpy.typing import NDArray


def set_weights(
    root: LayerInstance, file: KerasFile, slots: Sequence[WeightSlot], version: KerasVersion
) -> None:
    """Set the values of all weights; UnreadableFile if the file does not have them."""
    if not slots:
        return
    if file.weights is None:
        raise UnreadableFile(
            f"{file.where}: has an architecture but no weights; put the weights file beside it, or save the "
            "whole model with model.save"
        )
    pairs = _by_layer(root, file.weights) if file.weights.layout == BY_LAYER else _by_path(root, file.weights)
    for owner, slot, stored in pairs:
        if stored is None:
            raise UnreadableFile(f"{_place(file, owner, slot)} is not in the file")
        if stored.shape != slot.shape:
            wrong = f"has the shape {stored.shape} in the file; expected {slot.shape}"
            raise UnreadableFile(f"{_place(file, owner, slot)} {wrong}")
        slot.node.attrs["value"] = Tensor(slot.dtype, Shape(slot.shape), load=_Elements(stored, slot))


def _place(file: KerasFile, owner: str, slot: WeightSlot) -> str:
    return f"{file.where}: layer `{owner}`: its weight `{slot.name}`"


Pairs = Iterator[tuple[str, WeightSlot, StoredWeight | None]]


def _by_layer(root: LayerInstance, stored: StoredWeights) -> Pairs:
    for name, child in root.children.items():
        slots = list(child.every_weight())
        ordered = [s for s in slots if s.trainable] + [s for s in slots if not s.trainable]
        arrays = stored.lists.get(name, [])
        for place, slot in enumerate(ordered):
            yield name, slot, arrays[place] if place < len(arrays) else None


def _by_path(root: LayerInstance, stored: StoredWeights, path: str = "layers") -> Pairs:
    for name, child in root.children.items():
        arrays = stored.lists.get(f"{path}/{name}", [])
        for place, slot in enumerate(child.weights.values()):
            yield name, slot, arrays[place] if place < len(arrays) else None
        yield from _by_path(child, stored, f"{path}/{name}")


class _Elements:
    """Reads the elements of a weight when called."""

    def __init__(self, stored: StoredWeight, slot: WeightSlot) -> None:
        self.stored, self.slot = stored, slot

    def __call__(self) -> NDArray[Any]:
        return self.stored.read().astype(self.slot.dtype.numpy, copy=False)
