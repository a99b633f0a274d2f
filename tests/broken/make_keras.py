"""A Keras file for each known way to make Keras execute, import, open or allocate something.

`write` makes all of them in a folder; `sentence` is what reading one lists, and the error of reading its
weights. Nothing here does harm: the code is not code, and the files that are named do not exist.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tfport.errors import Error
from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras

CODE = "bm90IHJlYWxseSBhIGZ1bmN0aW9u"


def sentence(path: Path) -> str:
    """The unsafe content of a file, and the error of its weights; a line for each."""
    return "\n".join(_lines(path)).replace(f"{path.parent}{os.sep}", "")


def _lines(path: Path) -> Iterator[str]:
    try:
        location = find_model(path)
        file = read_keras(location.files, location.name)
        yield from (f"{unsafe.kind}: {unsafe.where}: {unsafe.detail}" for unsafe in file.unsafe)
        for weights in file.weights.lists.values() if file.weights else ():
            for weight in weights:
                weight.read()
    except Error as error:
        yield f"{type(error).__name__}: {error}"


def layer(class_name: str, module: str | None = "keras.layers", /, **config: Any) -> dict[str, Any]:
    place = {} if module is None else {"module": module, "registered_name": None}
    return {"class_name": class_name, **place, "config": {"name": "suspect", **config}}


def model(*layers: dict[str, Any]) -> dict[str, Any]:
    return {"class_name": "Sequential", "config": {"name": "m", "layers": list(layers)}}


def function(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": "function"}


def hdf5(write: Any) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        write(file)
    return buffer.getvalue()


def archive(config: dict[str, Any], weights: bytes | None = None, **members: bytes) -> bytes:
    files = {"metadata.json": json.dumps({"keras_version": "3.9.0", "date_saved": ""}).encode()}
    files |= {"config.json": json.dumps(config).encode()}
    files |= {"model.weights.h5": weights} if weights is not None else {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in (files | members).items():
            file.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def in_hdf5(config: dict[str, Any]) -> bytes:
    def write(file: h5py.File) -> None:
        file.attrs["model_config"], file.attrs["keras_version"] = json.dumps(config), "2.15.0"
        file.create_group("model_weights").attrs["layer_names"] = np.array([], "S1")

    return hdf5(write)


def weight(value: Any) -> bytes:
    """The weights of a layer: an array, or a link to one."""
    return hdf5(lambda file: file.create_group("layers/dense/vars").__setitem__("0", value))


def external_data() -> bytes:
    outside = [("/etc/hostname", 0, 4)]
    create = {"shape": (1,), "dtype": "f4", "external": outside}
    return hdf5(lambda file: file.create_group("layers/dense/vars").create_dataset("0", **create))


def giant() -> bytes:
    """An array of 2 float32, whose shape says 2**40."""
    data = bytearray(weight(np.zeros(2, "f4")))
    shape = struct.pack("<QQ", 2, 2)
    assert data.count(shape) == 1
    at = data.index(shape)
    data[at : at + 16] = struct.pack("<QQ", 1 << 40, 1 << 40)
    return bytes(data)


DENSE = model(layer("Dense", units=1))
FUNCTION = {"class_name": "__lambda__", "config": {"code": CODE, "defaults": None, "closure": None}}


def cases() -> dict[str, bytes]:
    """The files by name. The comments are the entries of the list of common vulnerabilities."""
    return {
        # CVE-2024-3660: a Lambda layer with code
        "lambda.keras": archive(model(layer("Lambda", function=FUNCTION))),
        # CVE-2025-9905: the same in HDF5, where `safe_mode` did not count
        "lambda.h5": in_hdf5(
            model(layer("Lambda", None, function=[CODE, None, None], function_type="lambda"))
        ),
        # CVE-2025-1550: any class or function of any module
        "module.keras": archive(model(layer("Lambda", function=function("os", "system")))),
        "custom_module.keras": archive(model(layer("Popen", "subprocess", args="true"))),
        # CVE-2025-8747, CVE-2025-9906: functions of Keras itself
        "function.keras": archive(model(layer("Lambda", function=function("keras.utils", "get_file")))),
        "switch.keras": archive(
            model(layer("Lambda", function=function("keras.config", "enable_unsafe_deserialization")))
        ),
        "load.h5": in_hdf5(model(layer("Lambda", None, function="load_model", function_type="function"))),
        # CVE-2025-12058: files and URLs as vocabularies
        "vocabulary.keras": archive(model(layer("StringLookup", vocabulary="/etc/passwd"))),
        "url.keras": archive(model(layer("TextVectorization", vocabulary="http://localhost/secret"))),
        # CVE-2025-49655: a pickled module of PyTorch
        "torch.keras": archive(model(layer("TorchModuleWrapper", module=CODE))),
        "saved_model.keras": archive(model(layer("TFSMLayer", filepath="/srv/other", call_endpoint="serve"))),
        # CVE-2026-1669: HDF5 links and elements in other files
        "soft_link.keras": archive(DENSE, weight(h5py.SoftLink("/other"))),
        "external_link.keras": archive(DENSE, weight(h5py.ExternalLink("/srv/other.h5", "/x"))),
        "external_data.keras": archive(DENSE, external_data()),
        "linked_group.h5": hdf5(lambda file: file.__setitem__("layers", h5py.ExternalLink("/srv/o.h5", "/"))),
        # CVE-2026-0897: giant shapes
        "shape.keras": archive(DENSE, giant()),
        # CVE-2026-12479: names that lead outside
        "name.keras": archive(model({**layer("StringLookup"), "config": {"name": "../../up"}})),
        "member.keras": archive(DENSE, None, **{"assets/../../up.txt": b"x"}),
        "shard.keras": archive(
            DENSE,
            None,
            **{"model.weights.json": json.dumps({"weight_map": {"/a/vars": "../up.h5"}}).encode()},
        ),
        # weights in pickles, which the first releases of the format could write
        "pickled.keras": archive(DENSE, None, **{"model.weights.npz": b"PK\x05\x06" + bytes(18)}),
    }


def write(folder: Path) -> list[str]:
    """Write all files to a folder; return their names."""
    folder.mkdir()
    for name, data in cases().items():
        (folder / name).write_bytes(data)
    return list(cases())
