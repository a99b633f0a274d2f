"""Weights stored by layer: lists of names in the attributes of HDF5 groups.

`save_weights` of Keras 1 and 2 and every `.h5` model have them: `layer_names` in the top group,
`weight_names` in the group of each layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group
from tfport.formats.keras.datasets import stored_weight
from tfport.formats.keras.records import BY_LAYER, StoredWeight, StoredWeights, UnsafeContent

LAYERS, WEIGHTS = "layer_names", "weight_names"
OLD_COUNT, OLD_PARAMETERS = "nb_layers", "nb_params"
"""Keras before 1.0 numbered layers and weights instead."""
TOP_LEVEL = "top_level_model_weights"
"""The weights of a model that belong to none of its layers; Keras has it since 2.6."""
MOST_NAMES = 1_000_000


def has_layer_weights(attributes: Mapping[str, Any]) -> bool:
    return any(name in attributes for name in (LAYERS, f"{LAYERS}0", OLD_COUNT))


def layer_weights(group: Hdf5Group, unsafe: list[UnsafeContent]) -> StoredWeights:
    """The weights below a group with names of layers."""
    if OLD_COUNT in group.attributes and LAYERS not in group.attributes:
        return StoredWeights(BY_LAYER, _numbered(group, unsafe))
    names = _names(group, LAYERS)
    lists = {name: _of_layer(group, name, unsafe) for name in names}
    if TOP_LEVEL in group.links and (weights := _of_layer(group, TOP_LEVEL, unsafe)):
        lists[TOP_LEVEL] = weights
    return StoredWeights(BY_LAYER, lists)


def _of_layer(group: Hdf5Group, name: str, unsafe: list[UnsafeContent]) -> list[StoredWeight]:
    layer = group.find(name)
    if not isinstance(layer, Hdf5Group):
        if layer is None or isinstance(layer, Hdf5Dataset):
            raise UnreadableFile(
                f"{group.source.where}: expected the group `{name}` of a layer, found "
                f"{'nothing' if layer is None else 'an array'}"
            )
        unsafe.append(UnsafeContent("link", f"{group.path}/{name}".strip("/"), layer.target))
        return []
    return [stored_weight(layer, weight, unsafe) for weight in _names(layer, WEIGHTS)]


def _names(group: Hdf5Group, attribute: str) -> list[str]:
    """A list of names; a long one is stored in parts, `layer_names0` and so on."""
    if attribute in group.attributes:
        parts = [group.attributes[attribute]]
    else:
        numbered = (f"{attribute}{number}" for number in count())
        parts = []
        for name in numbered:
            if name not in group.attributes:
                break
            parts.append(group.attributes[name])
    return [_text(value) for part in parts for value in _elements(part)[:MOST_NAMES]]


def _elements(value: Any) -> list[Any]:
    """The elements of an attribute: none, one, or those of an array."""
    if value is None:
        return []
    return value.reshape(-1).tolist() if hasattr(value, "reshape") else [value]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _numbered(group: Hdf5Group, unsafe: list[UnsafeContent]) -> dict[str, list[StoredWeight]]:
    lists: dict[str, list[StoredWeight]] = {}
    for number in range(_count(group, OLD_COUNT)):
        layer = group.find(f"layer_{number}")
        if not isinstance(layer, Hdf5Group):
            raise UnreadableFile(f"{group.source.where}: expected the group `layer_{number}`, found none")
        parameters = range(_count(layer, OLD_PARAMETERS))
        lists[f"layer_{number}"] = [stored_weight(layer, f"param_{n}", unsafe) for n in parameters]
    return lists


def _count(group: Hdf5Group, attribute: str) -> int:
    value = group.attributes.get(attribute, 0)
    return min(int(value), MOST_NAMES) if getattr(value, "shape", None) == () else 0
