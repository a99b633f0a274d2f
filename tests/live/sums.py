"""How values are compared without keeping them: sums that need no TensorFlow."""

from __future__ import annotations

import hashlib

import numpy as np


def digest(array) -> str:
    """SHA-256 of the little-endian bytes in C order; of a string, its length in 8 bytes before it."""
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
    """How many values there are, and one sum over their sorted lines `name dtype shape sha256`."""
    lines = [f"{name} {v['dtype']} {v['shape']} {v['sha256']}\n" for name, v in sorted(values.items())]
    return {"count": len(lines), "sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
