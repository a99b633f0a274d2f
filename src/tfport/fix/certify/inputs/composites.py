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


def made_parts(
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
    places = (
        np.sort(random.choice(min(total, 1 << 20), filled, replace=False)) if filled else np.zeros(0, int)
    )
    indices = np.stack(np.unravel_index(places, sizes), 1) if sizes else np.zeros((filled, 0))
    made: Arrays = {}
    for tensor, (part, dtype, _) in parts.items():
        if part.kind == INDICES:
            made[tensor] = indices.astype(np.int64)
        elif part.kind == SHAPE:
            made[tensor] = np.array(sizes, np.int64)
        else:
            made[tensor] = array_of(dtype, (filled,), profile, random)
    return made


def _ragged(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    rows: int,
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """Row splits from the outermost to the innermost, and values."""
    made: Arrays = {}
    splits = sorted(
        (t for t, (part, _, _) in parts.items() if part.kind == SPLITS), key=lambda t: parts[t][0].place
    )
    for tensor in splits:
        lengths = random.integers(0, 3, rows, endpoint=True)
        made[tensor] = np.concatenate([[0], np.cumsum(lengths)]).astype(parts[tensor][1].numpy)
        rows = int(made[tensor][-1])
    for tensor, (part, dtype, inner) in parts.items():
        if part.kind == VALUES:
            made[tensor] = array_of(dtype, (rows, *inner[1:]), profile, random)
    return made
