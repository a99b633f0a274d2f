"""Digests to compare values without storing them; needs no TensorFlow."""

from __future__ import annotations

import hashlib

import numpy as np


def digest(array) -> str:
    """Return the SHA-256 of the little-endian bytes in C order; strings have an 8-byte length in front."""
    array = np.asarray(array)
    if array.dtype != object:
        return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    total = hashlib.sha256()
    for word in array.ravel():
        total.update(len(word).to_bytes(8, "little") + word)
    return total.hexdigest()


def value(dtype: str, array) -> dict:
    return {"dtype": dtype, "shape": list(array.shape), "sha256": digest(array)}


def digest_of_all(values: dict[str, dict]) -> dict:
    """Return the number of values and one digest over their sorted lines `name dtype shape sha256`."""
    lines = [f"{name} {v['dtype']} {v['shape']} {v['sha256']}\n" for name, v in sorted(values.items())]
    return {"count": len(lines), "sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
