"""Weights stored by path: `layers/dense/vars/0`, as `.keras` files and `.weights.h5` have them."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group
from tfport.formats.keras.datasets import stored_weight
from tfport.formats.keras.records import BY_PATH, Json, StoredWeight, StoredWeights, UnsafeContent
from tfport.formats.keras.stored_json import text_attribute

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
            lists.setdefault(owner, []).extend(weights)
            if name := text_attribute(variables.attributes, "name"):
                stores.setdefault(owner, {})["name"] = name
    ordered = {owner: sorted(weights, key=_order) for owner, weights in lists.items() if weights}
    return StoredWeights(BY_PATH, ordered, stores)


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
