"""HDF5 files of all kinds, written by h5py, and what h5py reads from them."""

from __future__ import annotations

import io
from typing import Any

import h5py
import ml_dtypes
import numpy as np

from tfport.formats.hdf5.file import Hdf5Group, open_hdf5

VERSIONS: dict[str, dict[str, Any]] = {
    "earliest": {},
    "by_creation": {"track_order": True},
    "v108": {"libver": ("earliest", "v108")},
    "latest": {"libver": "latest"},
    "after_other_bytes": {"userblock_size": 1024},
}
"""How h5py writes a file: old and new groups, with few and many links and attributes."""


def written(**options: Any) -> bytes:
    """An HDF5 file with one object of each kind that is read."""
    random = np.random.default_rng(0)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        file.attrs["text"], file.attrs["bytes"], file.attrs["number"] = '{"a": 1}', b"bytes", 3
        file.attrs["names"] = np.array([b"a", b"bcd"])
        file.attrs["texts"] = np.array(["x", "yyy"], object)
        file.attrs["long"] = np.frombuffer(b"z" * 60000, "S60000")
        for number in range(12):
            file.attrs[f"attribute{number}"] = "v" * number
        for number in range(60):
            file[f"many/array{number}"] = np.arange(number, dtype="f4")
        for dtype in ("f2", "f4", "f8", "i1", "u2", "i8", ">i4", ">f8", "?"):
            file[f"types/{dtype}"] = np.arange(6).astype(dtype).reshape(2, 3)
        file["types/strings"] = np.array([b"ab", b"c"])
        file.create_dataset("types/texts", data=["aa", "b", ""], dtype=h5py.string_dtype())
        if options.get("libver") != ("earliest", "v108"):
            file["types/bfloat16"] = np.arange(5).astype(ml_dtypes.bfloat16)
            file["types/float8"] = np.arange(5).astype(ml_dtypes.float8_e4m3fn)
        file["scalar"], file["no/elements/at/all"] = np.float64(3), np.zeros((0, 3))
        file.create_dataset("never_written", shape=(3, 4), dtype="f4")
        grid = random.normal(size=(37, 53))
        file.create_dataset("packed", data=grid, chunks=(37, 53), compression="gzip", shuffle=True)
        file.create_dataset("plain_chunks", data=grid, chunks=(37, 53))
    return buffer.getvalue()


def expected(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The attributes of the root and all arrays, as h5py reads them."""
    arrays: dict[str, np.ndarray] = {}

    def visit(name: str, value: Any) -> None:
        if isinstance(value, h5py.Dataset):
            array = np.asarray(value[()])
            arrays[name] = array.astype(array.dtype.newbyteorder("="))

    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(visit)
        return dict(file.attrs), arrays


def opened(data: bytes) -> Hdf5Group:
    return open_hdf5(memoryview(data), "m.h5")
