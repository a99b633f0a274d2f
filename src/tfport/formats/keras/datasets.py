"""The weights of Keras files that are HDF5 datasets, read on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group
from tfport.formats.hdf5.links import Hdf5Link
from tfport.formats.keras.records import StoredWeight, UnsafeContent
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
