"""Which atoms are near which: all within a distance, the nearest first, a fixed number of each type.

An atom with a negative type is none. With a periodic box, copies of the box around it have neighbors too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPEN, PERIODIC, LISTED = "open", "periodic", "listed"
HEADER = 16
MOST_PAIRS = 1 << 24
"""Distances that are computed at a time."""


class Surroundings(NamedTuple):
    """The atoms of a frame with their copies, and pairs of an atom and a neighbor."""

    coordinates: NDArray[Any]
    origin: NDArray[Any]
    """The atom that each is a copy of."""
    atom: NDArray[Any]
    neighbor: NDArray[Any]
    slot: NDArray[Any]
    """The place of the neighbor among those of its atom."""


def mode_of(mesh: NDArray[Any], mixed: bool) -> str:
    """Where the neighbors come from, as the size of the mesh says."""
    if mesh.size in (0, 1) and (mixed or not mesh.size):
        return OPEN
    if mesh.size in (6, 7) and (mixed or mesh.size == 6):
        return PERIODIC
    if mesh.size > HEADER:
        return LISTED
    raise RunFailed(
        f"unsupported: a mesh of {mesh.size} numbers; expected none, 6, or a list of neighbors in the mesh"
        + (" (16 numbers are addresses in another program)" if mesh.size == HEADER else "")
    )


def surroundings(
    coordinates: NDArray[Any],
    types: NDArray[Any],
    box: NDArray[Any],
    mesh: NDArray[Any],
    mode: str,
    local: int,
    cutoff: np.float32,
    selected: list[int],
) -> Surroundings:
    """The neighbors of the local atoms of one frame."""
    origin = np.arange(len(coordinates))
    if mode == PERIODIC:
        coordinates, origin = _with_copies(coordinates, box.reshape(3, 3), float(cutoff))
    kinds = types[origin]
    if mode == LISTED:
        atom, neighbor = _listed(mesh, local, len(coordinates))
    else:
        atom, neighbor = _near(coordinates, kinds, local, cutoff, mode == PERIODIC)
    return _selected(coordinates, origin, kinds, atom, neighbor, cutoff, selected)


def _with_copies(coordinates: NDArray[Any], box: NDArray[Any], cutoff: float) -> tuple[Any, Any]:
    """The atoms within the box, then their copies in the boxes around it that are near enough."""
    inverse = np.linalg.inv(box)
    inner = np.mod(coordinates @ inverse, 1.0)
    faces = 1 / np.linalg.norm(inverse, axis=0)
    reach = np.ceil(cutoff / faces).astype(int)
    shifts = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in reach), indexing="ij"), -1).reshape(-1, 3)
    shifts = shifts[(shifts != 0).any(1)]
    moved = (inner[None] + shifts[:, None]).reshape(-1, 3)
    depth = np.maximum(-moved, moved - 1).clip(0) * faces
    near = np.flatnonzero((depth <= cutoff).all(1))
    every = np.concatenate([inner, moved[near]])
    origin = np.concatenate([np.arange(len(coordinates)), near % len(coordinates)])
    return (every @ box).astype(coordinates.dtype), origin


def _near(
    coordinates: NDArray[Any], kinds: NDArray[Any], local: int, cutoff: np.float32, checks_own: bool
) -> tuple[Any, Any]:
    limit = coordinates.dtype.type(cutoff * cutoff)
    step = max(1, MOST_PAIRS // max(1, len(coordinates)))
    atoms, neighbors = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, local, step):
        here = np.arange(start, min(start + step, local))
        difference = coordinates[here, None] - coordinates[None]
        close = (difference * difference).sum(-1) < limit
        close[np.arange(len(here)), here] = False
        close &= kinds[None] >= 0
        if checks_own:
            close &= kinds[here, None] >= 0
        atom, neighbor = np.nonzero(close)
        atoms.append(here[atom])
        neighbors.append(neighbor)
    return np.concatenate(atoms), np.concatenate(neighbors)


def _listed(mesh: NDArray[Any], local: int, count: int) -> tuple[Any, Any]:
    """Neighbors from the mesh: after a header the atoms, how many each has, and those."""
    order, lengths = mesh[HEADER : HEADER + local], mesh[HEADER + local : HEADER + 2 * local]
    neighbors = mesh[HEADER + 2 * local :]
    if (
        len(lengths) != local
        or (np.sort(order) != np.arange(local)).any()
        or (lengths < 0).any()
        or lengths.sum() > len(neighbors)
    ):
        raise RunFailed(f"the mesh is no list of the neighbors of {local} atoms")
    neighbors = neighbors[: lengths.sum()]
    if len(neighbors) and not 0 <= neighbors.min() <= neighbors.max() < count:
        raise RunFailed(f"neighbors in the mesh must be in [0, {count})")
    return np.repeat(order, lengths).astype(np.int64), neighbors.astype(np.int64)


def _selected(
    coordinates: NDArray[Any],
    origin: NDArray[Any],
    kinds: NDArray[Any],
    atom: NDArray[Any],
    neighbor: NDArray[Any],
    cutoff: np.float32,
    selected: list[int],
) -> Surroundings:
    """The nearest neighbors of each type; distances are compared in float32."""
    single = coordinates.astype(np.float32)
    difference = single[neighbor] - single[atom]
    square = difference[:, 0] * difference[:, 0]
    square = square + difference[:, 1] * difference[:, 1] + difference[:, 2] * difference[:, 2]
    keep = (square <= cutoff * cutoff) & (kinds[neighbor] >= 0)
    atom, neighbor, square = atom[keep], neighbor[keep], square[keep]
    kind = kinds[neighbor]
    if len(kind) and kind.max() >= len(selected):
        raise RunFailed(f"types must be below {len(selected)}, found {kind.max()}")
    order = np.lexsort((neighbor, square, kind, atom))
    atom, neighbor, kind = atom[order], neighbor[order], kind[order]
    group = atom * len(selected) + kind
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    keep = rank < np.array(selected)[kind]
    slot = np.concatenate([[0], np.cumsum(selected)])[kind] + rank
    return Surroundings(coordinates, origin, atom[keep], neighbor[keep], slot[keep])
