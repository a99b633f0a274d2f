"""Tensors as a file that any Python reads without pickle: for processes with another TensorFlow.

A length, a JSON list of what follows (name, type, shape, bytes, of strings their lengths), then the
elements of one tensor after the other. `target_worker` has the other end of it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.errors import UnreadableFile
from tfport.graph.dtypes import STRING, DType


def write_tensors(path: Path, tensors: Mapping[str, tuple[DType, NDArray[Any]]]) -> None:
    told, blobs = [], []
    for name, (dtype, array) in tensors.items():
        one: dict[str, Any] = {"name": name, "dtype": dtype.name, "shape": list(array.shape)}
        if dtype == STRING:
            texts = [bytes(text) for text in array.ravel().tolist()]
            one["lengths"] = [len(text) for text in texts]
            blobs.append(b"".join(texts))
        else:
            blobs.append(np.ascontiguousarray(array).tobytes())
        told.append({**one, "bytes": len(blobs[-1])})
    head = json.dumps(told).encode()
    path.write_bytes(b"".join([struct.pack("<Q", len(head)), head, *blobs]))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file; nothing in it is believed that its size does not bear out."""
    data = path.read_bytes()
    try:
        length = struct.unpack("<Q", data[:8])[0]
        found, at = {}, 8 + length
        for one in json.loads(data[8 : 8 + length]):
            raw = data[at : at + one["bytes"]]
            at += len(raw)
            found[one["name"]] = _array(one, raw)
        return found
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise UnreadableFile(f"{path.name}: what the other process wrote makes no tensors: {error}") from None


def _array(told: dict[str, Any], raw: bytes) -> NDArray[Any]:
    shape = tuple(int(size) for size in told["shape"])
    dtype = DType.parse(told["dtype"])
    if dtype != STRING:
        return np.frombuffer(raw, dtype.numpy).reshape(shape)
    lengths = told["lengths"]
    if len(lengths) != math.prod(shape) or sum(lengths) != len(raw):
        raise ValueError("the strings do not fit their lengths")
    flat = np.empty(len(lengths), object)
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    flat[:] = [raw[end - size : end] for size, end in zip(lengths, ends, strict=True)]
    return flat.reshape(shape)
