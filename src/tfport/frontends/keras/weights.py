"""Give the weights of a built model the arrays of its file.

Which array belongs to which weight depends on the layout: `frontends.keras.layer_weights` (lists by
layer) and `frontends.keras.path_weights` (paths of objects). Here the shapes are compared: everything that is
missing or does not fit is one error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import BY_LAYER, KerasFile, StoredWeight
from tfport.frontends.keras.instance import LayerInstance, StoredForm, WeightSlot
from tfport.frontends.keras.layer_weights import layer_lists
from tfport.frontends.keras.path_weights import path_lists
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PROBLEMS = 12


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
    if file.weights.layout == BY_LAYER:
        lists = layer_lists(root, file.weights, version)
    else:
        lists = path_lists(root, file.weights)
    problems = [problem for owner, expected, stored in lists for problem in _assign(owner, expected, stored)]
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS:] = [f"and {len(problems) - MOST_PROBLEMS} more"]
    if problems:
        raise UnreadableFile(f"{file.where}: {'; '.join(problems)}")


def _assign(owner: str, expected: Sequence[WeightSlot], stored: Sequence[StoredWeight]) -> Iterator[str]:
    """Set the weights of one list of arrays; yields what is wrong."""
    if len(stored) > len(expected):
        names = ", ".join(f"`{slot.name}`" for slot in expected) or "none"
        yield f"layer `{owner}` has {len(stored)} arrays in the file; expected {len(expected)}: {names}"
        return
    for place, slot in enumerate(expected):
        where = f"layer `{owner}`: its weight `{slot.name}`"
        if place >= len(stored):
            yield f"{where} is not in the file"
        elif (form := slot.form_of(stored[place].shape)) is None:
            shapes = " or ".join(str(form.shape) for form in slot.forms) or slot.shape
            yield f"{where} has the shape {stored[place].shape} in the file; expected {shapes}"
        else:
            load = _Elements(stored[place], slot, form)
            slot.node.attrs["value"] = Tensor(slot.dtype, Shape(slot.shape), load=load)


@dataclass(frozen=True, slots=True)
class _Elements:
    """Reads the elements of a weight when called."""

    stored: StoredWeight
    slot: WeightSlot
    form: StoredForm

    def __call__(self) -> NDArray[Any]:
        import numpy as np  # imported here, as `inspect` does not need it

        array = np.asarray(self.stored.read()).transpose(self.form.order).reshape(self.slot.shape)
        # with `...`, an array without axes stays an array
        turned: tuple[Any, ...] = (slice(None, None, -1),) * self.form.reversed_axes
        array = array[(*turned, ...)]
        return array.astype(self.slot.dtype.numpy, copy=False)
