"""Generate the parts of a sparse or ragged tensor so that they are consistent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile, array_of
from tfport.fix.certify.inputs.input_roles import INDICES, SHAPE, SPLITS, VALUES, TensorPart
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[Any]"]
MOST_FILLED = 7
"""The most elements of a generated sparse tensor."""


def generated_parts(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    sizes: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """An array for each part of one tensor; `sizes` is the shape of the whole."""
    if any(part.kind == SPLITS for part, _, _ in parts.values()):
        return _ragged(parts, sizes[0] if sizes else 1, profile, random)
    return _sparse(parts, sizes, profile, random)


def _sparse(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    sizes: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """Elements with distinct, sorted indices, as sparse ops require."""
    total = math.prod(sizes)
    filled = min(total, MOST_FILLED)
    chosen = (
        np.sort(random.choice(min(total, 1 << 20), filled, replace=False)) if filled else np.zeros(0, int)
    )
    indices = np.stack(np.unravel_index(chosen, sizes), 1) if sizes else np.zeros((filled, 0))
    arrays: Arrays = {}
    for tensor, (part, dtype, _) in parts.items():
        if part.kind == INDICES:
            arrays[tensor] = indices.astype(np.int64)
        elif part.kind == SHAPE:
            arrays[tensor] = np.array(sizes, np.int64)
        else:
            arrays[tensor] = array_of(dtype, (filled,), profile, random)
    return arrays


def _ragged(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    rows: int,
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """Row splits from the outermost to the innermost, and values."""
    arrays: Arrays = {}
    splits = sorted(
        (t for t, (part, _, _) in parts.items() if part.kind == SPLITS), key=lambda t: parts[t][0].index
    )
    for tensor in splits:
        lengths = random.integers(0, 3, rows, endpoint=True)
        arrays[tensor] = np.concatenate([[0], np.cumsum(lengths)]).astype(parts[tensor][1].numpy)
        rows = int(arrays[tensor][-1])
    for tensor, (part, dtype, inner) in parts.items():
        if part.kind == VALUES:
            arrays[tensor] = array_of(dtype, (rows, *inner[1:]), profile, random)
    return arrays
