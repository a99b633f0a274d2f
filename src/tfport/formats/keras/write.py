"""Write Keras files: `.h5` models as Keras 2 does, and `.keras` archives as Keras 3 does.

HDF5 is written by `h5py`, which `tfport[keras]` installs.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.extras import optional_module
from tfport.formats.keras.archive import CONFIG, METADATA, WEIGHTS
from tfport.formats.keras.records import Json

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_LIMIT = 64512
"""Keras splits lists of names that are longer than the header of an HDF5 object."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of archive members, so that the same model gives the same bytes."""
Arrays = Sequence[tuple[str, "NDArray[Any]"]]
"""Arrays with their names."""


def write_h5(
    path: Path, config: Json, layers: Mapping[str, Arrays], version: str, training: Json = None
) -> None:
    """Write a whole model; `layers` has the arrays of every layer of the outermost model.

    `training` has the arguments of `compile`, if the model is compiled when it is loaded.
    """
    with _new_file(path) as file:
        _describe(file, version)
        file.attrs["model_config"] = json.dumps(config).encode()
        if training is not None:
            file.attrs["training_config"] = json.dumps(training).encode()
        group = file.create_group("model_weights")
        _describe(group, version)
        _names(group, "layer_names", list(layers))
        for name, arrays in layers.items():
            inner = group.create_group(name)
            _names(inner, "weight_names", [array_name for array_name, _ in arrays])
            for array_name, array in arrays:
                inner.create_dataset(array_name, data=array)


def write_archive(path: Path, config: Json, objects: Mapping[str, Arrays], version: str) -> None:
    """Write a `.keras` file; `objects` has the arrays by the path of the object that owns them."""
    buffer = io.BytesIO()
    with _h5py().File(buffer, "w") as file:
        for owner, arrays in objects.items():
            group = file.create_group(f"{owner}/vars".strip("/"))
            for number, (_, array) in enumerate(arrays):
                group.create_dataset(str(number), data=array)
    members = {
        METADATA: json.dumps({"keras_version": version}).encode(),
        CONFIG: json.dumps(config).encode(),
        WEIGHTS: buffer.getvalue(),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content)


def _describe(group: Any, version: str) -> None:
    group.attrs["keras_version"], group.attrs["backend"] = version.encode(), b"tensorflow"


def _names(group: Any, attribute: str, names: Sequence[str]) -> None:
    """Store a list of names, in parts if it is long."""
    import numpy as np

    array = np.asarray([name.encode() for name in names], "S") if names else np.zeros(0)
    parts = -(-array.nbytes // HEADER_LIMIT)
    if parts <= 1:
        group.attrs[attribute] = array
        return
    for number, part in enumerate(np.array_split(array, parts)):
        group.attrs[f"{attribute}{number}"] = part


@contextmanager
def _new_file(path: Path) -> Iterator[Any]:
    """An HDF5 file to write; of its errors only what the operating system says is of use."""
    try:
        with _h5py().File(path, "w") as file:
            yield file
    except OSError as error:
        if (number := re.search(r"errno = (\d+)", str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from None


def _h5py() -> Any:
    return optional_module("h5py", "writing Keras files")
