"""ProdForceSe… and ProdVirialSe…: what the slopes of an energy along the environments say of the atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

if TYPE_CHECKING:
    from numpy.typing import NDArray


@host("ProdForceSeA")
@host("ProdForceNorot")
def forces(net_deriv, in_deriv, nlist, natoms, *, n_a_sel, n_r_sel):
    return _forces(net_deriv, in_deriv, nlist, natoms, 4)


@host("ProdForceSeR")
def radial_forces(net_deriv, in_deriv, nlist, natoms):
    return _forces(net_deriv, in_deriv, nlist, natoms, 1)


@host("ProdForceSeAMask")
def masked_forces(net_deriv, in_deriv, mask, nlist, *, total_atom_num):
    frames, every = len(net_deriv), total_atom_num
    if mask.shape != (frames, every) or nlist.shape != (frames, every * every):
        raise RunFailed(
            f"expected mask and nlist of shapes {[[frames, every], [frames, every * every]]}, "
            f"found {[list(mask.shape), list(nlist.shape)]}"
        )
    is_atom = mask != 0
    neighbors = nlist.reshape(frames, every, every)
    others = np.where(is_atom[..., None] & (neighbors != np.arange(every)[:, None]), neighbors, -1)
    slopes = in_deriv.reshape(frames, every, -1) * is_atom[..., None].astype(in_deriv.dtype)
    natoms = np.array([every, every, 0])
    return _forces(net_deriv, slopes.reshape(in_deriv.shape), others.reshape(nlist.shape), natoms, 4)


def _forces(net: Any, environment: Any, nlist: Any, natoms: Any, width: int) -> NDArray[Any]:
    steps = _steps(net, environment, nlist, natoms, width)
    frames, local, every = len(net), int(natoms[0]), int(natoms[1])
    out = np.zeros((frames, every, 3), net.dtype)
    out[:, :local] = -steps.sum(2)
    neighbors = nlist.reshape(steps.shape[:3])
    frame, atom, slot = np.nonzero(neighbors >= 0)
    neighbor = neighbors[frame, atom, slot]
    np.add.at(out, (frame, neighbor), steps[frame, atom, slot])
    return out.reshape(frames, every * 3)


@host("ProdVirialSeA")
@host("ProdVirialNorot")
def virials(net_deriv, in_deriv, rij, nlist, natoms, *, n_a_sel, n_r_sel):
    return _virials(net_deriv, in_deriv, rij, nlist, natoms, 4)


@host("ProdVirialSeR")
def radial_virials(net_deriv, in_deriv, rij, nlist, natoms):
    return _virials(net_deriv, in_deriv, rij, nlist, natoms, 1)


def _virials(net: Any, environment: Any, rij: Any, nlist: Any, natoms: Any, width: int) -> Any:
    steps = _steps(net, environment, nlist, natoms, width)
    frames, every = len(net), int(natoms[1])
    if rij.shape != (frames, nlist.shape[1] * 3):
        raise RunFailed(f"rij must have shape {[frames, nlist.shape[1] * 3]}, found {list(rij.shape)}")
    neighbors = nlist.reshape(steps.shape[:3])
    frame, atom, slot = np.nonzero(neighbors >= 0)
    neighbor = neighbors[frame, atom, slot]
    difference = rij.reshape(*steps.shape[:3], 3)[frame, atom, slot]
    parts = steps[frame, atom, slot][:, :, None] * difference[:, None]
    of_atoms = np.zeros((frames, every, 3, 3), net.dtype)
    np.add.at(of_atoms, (frame, neighbor), parts)
    return of_atoms.sum(1).reshape(frames, 9), of_atoms.reshape(frames, every * 9)


def _steps(net: Any, environment: Any, nlist: Any, natoms: Any, width: int) -> NDArray[Any]:
    """What each neighbor contributes along x, y and z: frames, atoms, neighbors and axes."""
    if len(natoms) < 3:
        raise RunFailed(f"natoms must have at least 3 numbers, found {len(natoms)}")
    frames, local, every = len(net), int(natoms[0]), int(natoms[1])
    places = nlist.shape[1] // local if local else 0
    expected = (
        (frames, local * places * width),
        (frames, local * places * width * 3),
        (frames, local * places),
    )
    shapes = (net.shape, environment.shape, nlist.shape)
    if shapes != expected:
        raise RunFailed(
            f"expected net_deriv, in_deriv and nlist of shapes {list(map(list, expected))}, "
            f"found {list(map(list, shapes))}"
        )
    if nlist.size and nlist.max() >= every:
        raise RunFailed(f"neighbors must be below {every}, found {nlist.max()}")
    shape = (frames, local, places, width)
    steps: NDArray[Any] = np.einsum("fapw,fapwd->fapd", net.reshape(shape), environment.reshape(*shape, 3))
    return steps
