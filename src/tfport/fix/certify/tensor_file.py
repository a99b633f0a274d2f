"""A file format for tensors without pickle, for processes with another Python and TensorFlow.

A file has a length, a JSON list of headers (name, dtype, shape, bytes, lengths of strings), and the
elements of one tensor after the other. `workers.worker_jobs` reads and writes the same format.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.graph.dtypes import STRING, DType

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_tensors(path: Path, tensors: Mapping[str, tuple[DType, NDArray[Any]]]) -> None:
    headers, blobs = [], []
    for name, (dtype, array) in tensors.items():
        header: dict[str, Any] = {"name": name, "dtype": dtype.name, "shape": list(array.shape)}
        if dtype == STRING:
            texts = [bytes(text) for text in array.ravel().tolist()]
            header["lengths"] = [len(text) for text in texts]
            blobs.append(b"".join(texts))
        else:
            blobs.append(np.ascontiguousarray(array).tobytes())
        headers.append({**header, "bytes": len(blobs[-1])})
    head = json.dumps(headers).encode()
    path.write_bytes(b"".join([struct.pack("<Q", len(head)), head, *blobs]))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file; shapes and lengths in its header must match the number of bytes."""
    data = path.read_bytes()
    try:
        length = struct.unpack("<Q", data[:8])[0]
        tensors, at = {}, 8 + length
        for header in json.loads(data[8 : 8 + length]):
            raw = data[at : at + header["bytes"]]
            at += len(raw)
            tensors[header["name"]] = _array(header, raw)
        return tensors
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise UnreadableFile(f"{path.name}: cannot read the tensors of the other process: {error}") from None


def _array(header: dict[str, Any], raw: bytes) -> NDArray[Any]:
    shape = tuple(int(size) for size in header["shape"])
    dtype = DType.parse(header["dtype"])
    if dtype != STRING:
        return np.frombuffer(raw, dtype.numpy).reshape(shape)
    lengths = header["lengths"]
    if len(lengths) != math.prod(shape) or sum(lengths) != len(raw):
        raise ValueError(
            f"strings of {sum(lengths)} bytes do not match shape {list(shape)} and {len(raw)} bytes"
        )
    flat = np.empty(len(lengths), object)
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    flat[:] = [raw[end - size : end] for size, end in zip(lengths, ends, strict=True)]
    return flat.reshape(shape)
