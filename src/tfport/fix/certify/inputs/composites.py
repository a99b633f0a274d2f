"""Generate the parts of a sparse or ragged tensor, or of a system of atoms, so that they are consistent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile, array_of
from tfport.fix.certify.inputs.input_roles import (
    BOX,
    COORD,
    INDICES,
    MESH,
    MIXED_MESH,
    NATOMS,
    OF_ATOMS,
    SHAPE,
    SPLITS,
    TYPE,
    VALUES,
    TensorPart,
)
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[Any]"]
MOST_FILLED = 7
"""The most elements of a generated sparse tensor."""
BOX_WIDTH = 30.0


def generated_parts(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    sizes: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """An array for each part of one tensor; `sizes` is the shape of the whole."""
    if any(part.kind == SPLITS for part, _, _ in parts.values()):
        return _ragged(parts, sizes[0] if sizes else 1, profile, random)
    if any(part.kind == NATOMS for part, _, _ in parts.values()):
        return _atoms(parts, sizes[0] if sizes else 1, profile, random)
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


def _atoms(
    parts: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]],
    rows: int,
    profile: ValueProfile,
    random: Random,
) -> Arrays:
    """One frame of a system without a boundary, with as many atoms of each type."""
    types, fixed = next((math.prod(s) - 2, p.index) for p, _, s in parts.values() if p.kind == NATOMS)
    mixed = any(part.kind == MIXED_MESH for part, _, _ in parts.values())
    every = fixed or rows * types
    type_of = np.sort(np.arange(every) % max(types, 1))
    arrays: Arrays = {}
    for tensor, (part, dtype, shape) in parts.items():
        if part.kind == NATOMS:
            of_types = np.bincount(type_of * (not mixed), minlength=types)
            array = np.array([every, every, *of_types])
        elif part.kind == TYPE:
            array = type_of
        elif part.kind == BOX:
            array = (np.eye(3) * BOX_WIDTH).reshape(9)
        elif part.kind in (MESH, MIXED_MESH):
            array = np.zeros(int(part.kind == MIXED_MESH))
        else:
            each = 3 if part.kind == COORD else part.index
            count = each * (every if part.kind in (COORD, OF_ATOMS) else 1)
            array = array_of(dtype, (count,), profile, random)
        arrays[tensor] = array.astype(dtype.numpy).reshape((1,) * (len(shape) - 1) + (-1,))
    return arrays
