"""ProdEnvMatA, …R, …AMix and DescrptSeAMask: a row of numbers for each neighbor of an atom, and slopes.

A row is s(r) and, unless only distances matter, s(r) times the direction; s falls smoothly to 0 at the
cutoff. With a mask there is no cutoff, and s(r) is 1/r.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.atoms.neighbors import mode_of, surroundings

if TYPE_CHECKING:
    from numpy.typing import NDArray


_FARTHEST = 10000.0
"""The distance by which DeePMD-kit sorts an atom itself, and places without an atom."""


class AtomEnvironment(NamedTuple):
    """What is around the atoms of all frames."""

    rows: NDArray[Any]
    slopes: NDArray[Any]
    differences: NDArray[Any]
    neighbors: NDArray[Any]


@host("ProdEnvMatA")
@host("DescrptSeA")
@host("DescrptNorot")
def environment_matrix(
    coord, type, natoms, box, mesh, davg, dstd, *, rcut_a, rcut_r, rcut_r_smth, sel_a, sel_r
):
    inputs = (coord, type, natoms, box, mesh, davg, dstd)
    return tuple(_environment(*inputs, rcut_r, rcut_r_smth, sel_a, sel_r, 4))


@host("ProdEnvMatR")
@host("DescrptSeR")
def radial_environment_matrix(coord, type, natoms, box, mesh, davg, dstd, *, rcut, rcut_smth, sel):
    return tuple(_environment(coord, type, natoms, box, mesh, davg, dstd, rcut, rcut_smth, sel, [], 1))


@host("ProdEnvMatAMix")
def mixed_environment_matrix(
    coord, type, natoms, box, mesh, davg, dstd, *, rcut_a, rcut_r, rcut_r_smth, sel_a, sel_r
):
    inputs = (coord, type, natoms, box, mesh, davg, dstd)
    near = _environment(*inputs, rcut_r, rcut_r_smth, sel_a, sel_r, 4, mixed=True)
    known = near.neighbors >= 0
    types = np.take_along_axis(type, np.where(known, near.neighbors, 0), 1)
    return (*near, np.where(known, types, len(davg)).astype(np.int32), known)


@host("DescrptSeAMask")
def masked_environment_matrix(coord, type, mask, box, natoms, mesh):
    """The neighbors of an atom are all atoms, by type and distance; where the mask is 0, there is no atom."""
    if {coord.ndim, type.ndim, mask.ndim} != {2} or len(natoms) < 2:
        raise RunFailed("coord, type and mask must have 2 axes, and natoms at least 2 numbers")
    frames, every = len(coord), int(natoms[1])
    if coord.shape[1] != every * 3 or mask.shape != (frames, every) or type.shape != mask.shape:
        raise RunFailed(
            f"expected coord, type and mask of {frames} frames and {every} atoms, "
            f"found {list(map(list, (coord.shape, type.shape, mask.shape)))}"
        )
    at = coord.astype(np.float64).reshape(frames, every, 3)
    difference = at[:, None] - at[:, :, None]
    is_atom = mask != 0
    is_pair = is_atom[:, :, None] & is_atom[:, None] & ~np.eye(every, dtype=bool)
    distance = np.where(is_pair, np.sqrt((difference * difference).sum(-1)), _FARTHEST)
    types = np.broadcast_to(type[:, None], distance.shape)
    order = np.lexsort((distance, types), axis=-1).astype(np.int32)
    neighbors = np.where(is_atom[..., None], order, np.int32(-1))
    is_pair = np.take_along_axis(is_pair, order, 2)
    difference = np.where(is_pair[..., None], np.take_along_axis(difference, order[..., None], 2), 0)
    rows = np.zeros((*is_pair.shape, 4))
    slopes = np.zeros((*is_pair.shape, 4, 3))
    with np.errstate(divide="ignore", invalid="ignore"):  # two atoms in one place
        rows[is_pair], slopes[is_pair] = _rows(difference[is_pair], 4)
    wide = (x.astype(coord.dtype) for x in (rows, slopes, difference))
    return tuple(x.reshape(frames, math.prod(x.shape[1:])) for x in (*wide, neighbors))


def _environment(
    coord: Any, types: Any, natoms: Any, box: Any, mesh: Any, average: Any, deviation: Any,
    cutoff: float, smooth: float, selected: list[int], radial: list[int], width: int, *, mixed: bool = False,
) -> AtomEnvironment:  # fmt: skip
    places = sum(selected)
    _check(coord, types, natoms, box, average, deviation, places * width, sum(radial))
    if not mixed and len(selected) != len(average):
        raise RunFailed(f"expected a selection for each of {len(average)} types, found {len(selected)}")
    local, frames = int(natoms[0]), len(coord)
    mode, limits = mode_of(mesh, mixed), (np.float32(smooth), np.float32(cutoff))
    rows = np.zeros((frames, local, places, width), coord.dtype)
    slopes = np.zeros((frames, local, places, width, 3), coord.dtype)
    differences = np.zeros((frames, local, places, 3), coord.dtype)
    neighbors = np.full((frames, local, places), -1, np.int32)
    for frame in range(frames):
        kinds = np.where(types[frame] < 0, -1, 0) if mixed else types[frame]
        near = surroundings(
            coord[frame].reshape(-1, 3), kinds, box[frame], mesh, mode, local, limits[1], list(selected)
        )
        at = (frame, near.atom, near.slot)
        difference = near.coordinates[near.neighbor] - near.coordinates[near.atom]
        differences[at] = difference
        neighbors[at] = near.origin[near.neighbor]
        rows[at], slopes[at] = _smooth_rows(difference, *limits, width)
        own = types[frame, :local]
        mean, scale = (each.reshape(len(average), places, width)[own] for each in (average, deviation))
        is_atom = (own >= 0)[:, None, None]
        rows[frame] = np.where(is_atom, (rows[frame] - mean) / scale, 0)
        slopes[frame] = np.where(is_atom[..., None], slopes[frame] / scale[..., None], 0)
    outputs = (rows, slopes, differences, neighbors)
    return AtomEnvironment(*(each.reshape(frames, math.prod(each.shape[1:])) for each in outputs))


def _check(
    coord: Any, types: Any, natoms: Any, box: Any, average: Any, deviation: Any, columns: int, radial: int
) -> None:
    if len(natoms) < 3 or radial:
        raise RunFailed("natoms must have at least 3 numbers, and sel_r must be zero")
    local, every = int(natoms[0]), int(natoms[1])
    shapes = (coord.shape, types.shape, box.shape, average.shape, deviation.shape)
    kinds = len(natoms) - 2
    expected = (
        (len(coord), every * 3), (len(coord), every), (len(coord), 9), (kinds, columns), (kinds, columns),
    )  # fmt: skip
    if shapes != expected or not 0 <= local <= every:
        raise RunFailed(
            f"expected coord, type, box, davg and dstd of shapes {list(map(list, expected))}, "
            f"found {list(map(list, shapes))}"
        )
    if types.size and types.max() >= kinds:
        raise RunFailed(f"types must be below {kinds}, found {types.max()}")


def _rows(difference: NDArray[Any], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The row of each neighbor, and the slopes of its elements along x, y and z of the atom."""
    unit = difference.dtype.type(1)
    square = (difference * difference).sum(-1)
    inverse = unit / np.sqrt(square)
    distance = square * inverse
    inverse2 = inverse * inverse
    inverse4 = inverse2 * inverse2
    values = np.concatenate([(unit / distance)[:, None], difference / square[:, None]], 1)[:, :width]
    # what a step of the atom towards the neighbor changes
    steps = [difference * (inverse4 * distance)[:, None]]
    if width > 1:
        outer = 2 * difference[:, :, None] * difference[:, None] * inverse4[:, None, None]
        outer -= np.eye(3, dtype=difference.dtype) * inverse2[:, None, None]
        steps += list(np.moveaxis(outer, 1, 0))
    return values, np.stack(steps, 1)


def _smooth_rows(
    difference: NDArray[Any], first: np.float32, last: np.float32, width: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows that fall smoothly to 0 at a distance, and their slopes."""
    values, slopes = _rows(difference, width)
    distance = np.sqrt((difference * difference).sum(-1))
    switch, slope = _switch(distance, first, last)
    slopes *= switch[:, None, None]
    slopes -= values[:, :, None] * (slope / distance)[:, None, None] * difference[:, None]
    return values * switch[:, None], slopes


def _switch(distance: NDArray[Any], first: np.float32, last: np.float32) -> tuple[Any, Any]:
    """A polynomial that falls from 1 at the first distance to 0 at the last one, and its slope."""
    kind = distance.dtype.type
    part = (distance - kind(first)) / kind(last - first)
    bend = -6 * part * part + 15 * part - 10
    value = part**3 * bend + 1
    slope = (3 * part * part * bend + part**3 * (-12 * part + 15)) / kind(last - first)
    inside, outside = distance < first, distance >= last
    return (
        np.where(inside, kind(1), np.where(outside, kind(0), value)),
        np.where(inside | outside, kind(0), slope),
    )
