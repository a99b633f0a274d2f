"""The weights of Keras files that are HDF5 datasets, by layer or by path, read on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group, Hdf5Link
from tfport.formats.keras.records import BY_LAYER, BY_PATH, Json, StoredWeight, StoredWeights, UnsafeContent
from tfport.formats.keras.stored_json import text_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray


BFLOAT16 = "bfloat16"


def stored_weight(
    group: Hdf5Group, path: str, unsafe: list[UnsafeContent], name: str | None = None
) -> StoredWeight:
    """The weight at a path below a group. A link is not followed: it is listed as unsafe."""
    weight = group.find(path)
    name = path if name is None else name
    where = f"{group.path}/{path}".strip("/")
    if isinstance(weight, Hdf5Dataset):
        _check(weight, unsafe)
        return _from_dataset(weight, name)
    if isinstance(weight, Hdf5Link):
        unsafe.append(UnsafeContent("link", where, weight.target))
        return StoredWeight(name, "", (), lambda: _refuse(group.source.where, where, weight.target))
    raise UnreadableFile(
        f"{group.source.where}: expected the array `{where}`, which the file lists, "
        f"found {'a group' if weight else 'nothing'}"
    )


def _from_dataset(weight: Hdf5Dataset, name: str) -> StoredWeight:
    # h5py stores bfloat16 as bytes without a type, which Keras 3 marks with an attribute
    is_untyped = weight.type.dtype is not None and weight.type.dtype.kind == "V"
    is_marked = text_attribute(weight.attributes, "dtype") == BFLOAT16
    is_bfloat16 = weight.type.size == 2 and (is_untyped or is_marked)
    if not is_bfloat16:
        return StoredWeight(name, weight.type.label, weight.shape, weight.read)

    def read() -> NDArray[Any]:
        import ml_dtypes

        return weight.read().view(ml_dtypes.bfloat16)

    return StoredWeight(name, BFLOAT16, weight.shape, read)


def _check(weight: Hdf5Dataset, unsafe: list[UnsafeContent]) -> None:
    if weight.external:
        unsafe.append(UnsafeContent("link", weight.path, weight.external))
    if weight.is_impossible:
        size = f"the shape {list(weight.shape)}, which needs {weight.nbytes} bytes"
        unsafe.append(UnsafeContent("size", weight.path, size))


def _refuse(where: str, path: str, target: str) -> NoReturn:
    raise UnreadableFile(f"{where}: {path}: {target}; tfport does not follow it")


# Weights by layer, as `save_weights` of Keras 1 and 2 and every `.h5` model have them: lists of names in
# the attributes `layer_names` of the top group and `weight_names` of the group of each layer.

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


# Weights by path, `layers/dense/vars/0`, as `.keras` files and `.weights.h5` have them.

VARIABLES = "vars"
TOP_GROUPS = frozenset({VARIABLES, "layers", "_layer_checkpoint_dependencies", "_functional"})
"""Groups at the top of a file with weights by path."""
MOST_GROUPS = 200_000
DEEPEST = 200
"""A model inside a model adds two levels."""


def has_path_weights(root: Hdf5Group) -> bool:
    return not TOP_GROUPS.isdisjoint(root.links)


def path_weights(roots: list[Hdf5Group], unsafe: list[UnsafeContent]) -> StoredWeights:
    """The weights of one file, or of the parts of a model that was saved in parts."""
    lists: dict[str, list[StoredWeight]] = {}
    stores: dict[str, dict[str, Json]] = {}
    for root in roots:
        for owner, variables in _variables(root, unsafe):
            weights = [
                stored_weight(variables, name, unsafe, f"{variables.path}/{name}") for name in variables.links
            ]
            owner = owner.replace("\\", "/")  # Keras 2.13 on Windows joins names with it
            lists.setdefault(owner, []).extend(weights)
            if name := text_attribute(variables.attributes, "name"):
                stores.setdefault(owner, {})["name"] = name
    ordered = {owner: sorted(weights, key=_order) for owner, weights in lists.items() if weights}
    has_top_group = any(VARIABLES in root.links for root in roots)
    return StoredWeights(BY_PATH, ordered, stores, has_top_group)


def _order(weight: StoredWeight) -> tuple[bool, int, str]:
    """Numbers in their order, then other names."""
    name = weight.name.rpartition("/")[2]
    is_number = name.isascii() and name.isdigit() and len(name) < 10
    return not is_number, int(name) if is_number else 0, name


def _variables(root: Hdf5Group, unsafe: list[UnsafeContent]) -> Iterator[tuple[str, Hdf5Group]]:
    """The groups named `vars` with the path of the object that owns them."""
    groups = [(root, frozenset[int]())]  # with the addresses of the groups around it
    seen = 0
    while groups:
        group, above = groups.pop()
        seen += 1
        if seen > MOST_GROUPS or len(above) > DEEPEST:
            raise UnreadableFile(
                f"{root.source.where}: more than {MOST_GROUPS} groups, or {DEEPEST} inside each other"
            )
        for link in reversed(list(group.links.values())):
            path = f"{group.path}/{link.name}".strip("/")
            if link.address is None:
                unsafe.append(UnsafeContent("link", path, link.target))
            elif link.address in above:
                unsafe.append(UnsafeContent("link", path, "a group that contains itself"))
            elif isinstance(inner := group.open(link), Hdf5Dataset):
                continue
            elif link.name == VARIABLES:
                yield group.path, inner
            else:
                groups.append((inner, above | {link.address}))
