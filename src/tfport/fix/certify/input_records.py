"""What a certificate says about the inputs of a trial: dtype, shape and SHA-256 of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.trials import Trial
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOW = (
    "The SHA-256 of an input is that of its elements in row-major order, little-endian, as "
    "numpy's tobytes() returns them; before each string its length as 8 bytes."
)


@dataclass(frozen=True, slots=True)
class InputRecord:
    """One input of a trial; a composite input has one record for each part."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


def input_records(trial: Trial) -> list[InputRecord]:
    return [_record(name, np.asarray(array)) for name, array in _parts(trial)]


def _parts(trial: Trial) -> Iterator[tuple[str, Any]]:
    for name, array in trial.inputs.items():
        if isinstance(array, tuple):
            yield from ((f"{name}[{i}]", part) for i, part in enumerate(array))
        else:
            yield name, array


def _record(name: str, array: NDArray[Any]) -> InputRecord:
    is_text = array.dtype.kind in "OSU"
    sha256 = hashlib.sha256()
    if is_text:
        for element in array.reshape(-1).tolist():
            text = element if isinstance(element, bytes) else str(element).encode(errors="surrogateescape")
            sha256.update(len(text).to_bytes(8, "little") + text)
    else:
        sha256.update(np.ascontiguousarray(array).tobytes())
    return InputRecord(name, "string" if is_text else array.dtype.name, array.shape, sha256.hexdigest())
