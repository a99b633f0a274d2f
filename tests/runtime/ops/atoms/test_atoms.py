"""Ops of DeePMD-kit, compared with the real ones (`tests.live.record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks

BOX = np.array([6.0, 0, 0, 0.5, 7, 0, -0.3, 0.4, 5])
SMALL = np.array([2.5, 0, 0, 0, 2.6, 0, 0, 0, 2.7])
TYPES = np.array([0, 1, 1, 0, 1, 1, 0], np.int32)
NATOMS = np.array([7, 7, 3, 4], np.int32)
LISTED = np.concatenate(
    [np.zeros(16), np.arange(7), np.full(7, 3), *(np.delete(np.arange(7), i)[:3] for i in range(7))]
).astype(np.int32)
MESHES = {"open": np.zeros(0, np.int32), "periodic": np.zeros(6, np.int32), "listed": LISTED}
MIXED = {"open": np.zeros(1, np.int32), "periodic": np.zeros(7, np.int32), "listed": LISTED}


def atoms(frames, kind=np.float64, box=BOX, types=TYPES):
    coordinates = np.random.default_rng(frames).uniform(-2, 8, (frames, len(types) * 3)).astype(kind)
    return coordinates, np.tile(types, (frames, 1)), NATOMS, np.tile(box.astype(kind), (frames, 1))


def scales(columns, kind):
    draw = np.random.default_rng(columns)
    return draw.normal(0, 0.1, (2, columns)).astype(kind), draw.uniform(0.5, 1.5, (2, columns)).astype(kind)


def environment(op, mesh, frames=2, kind=np.float64, sel=(5, 6), width=4, **options):
    inputs = atoms(frames, kind, **options)
    attrs = {"rcut_a": -1.0, "rcut_r": 4.0, "rcut_r_smth": 0.5, "sel_a": list(sel)}
    attrs["sel_r"] = [0] * len(sel)
    if width == 1:
        attrs = {"rcut": 4.0, "rcut_smth": 0.5, "sel": list(sel)}
    close = {"rtol": 1e-5, "atol": 1e-5} if kind is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    return case(op, *inputs, mesh, *scales(sum(sel) * width, kind), **attrs, **close)


def slopes(op, width, frames=2, places=3, kind=np.float64):
    draw = np.random.default_rng(width)
    net = draw.normal(size=(frames, 7 * places * width)).astype(kind)
    environments = draw.normal(size=(frames, 7 * places * width * 3)).astype(kind)
    neighbors = draw.integers(-1, 7, (frames, 7 * places)).astype(np.int32)
    more = [draw.normal(size=(frames, 7 * places * 3)).astype(kind)] if "Virial" in op else []
    close = {"rtol": 1e-4, "atol": 1e-5} if kind is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    attrs = {"n_a_sel": places, "n_r_sel": 0} if width == 4 else {}
    return case(op, net, environments, *more, neighbors, NATOMS, **attrs, **close)


MASK = np.array([[1, 1, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 0, 1]], np.int32)
MASKED_TYPES = np.array([0, 1, 1, 0, 2, 2, 0], np.int32)


def masked(frames=2, kind=np.float64, mask=MASK, **more):
    coordinates, types, natoms, box = atoms(frames, kind, types=MASKED_TYPES)
    close = {"rtol": 1e-5, "atol": 1e-6} if kind is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    inputs = (coordinates, types, mask[:frames], box, natoms, MESHES["open"])
    return case("DescrptSeAMask", *inputs, **close, **more)


def masked_slopes(frames=2, kind=np.float64, mask=MASK):
    draw = np.random.default_rng(5)
    net = draw.normal(size=(frames, 7 * 7 * 4)).astype(kind)
    environments = draw.normal(size=(frames, 7 * 7 * 4 * 3)).astype(kind)
    neighbors = draw.permuted(np.tile(np.arange(7, dtype=np.int32), (frames, 7, 1)), axis=2)
    close = {"rtol": 1e-4, "atol": 1e-5} if kind is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    inputs = (net, environments, mask[:frames], neighbors.reshape(frames, 49))
    return case("ProdForceSeAMask", *inputs, total_atom_num=7, **close)


OLD_CASES = [
    *(
        environment("ProdEnvMatA", mesh, kind=kind)
        for mesh in MESHES.values()
        for kind in (np.float64, np.float32)
    ),
    environment("ProdEnvMatA", MESHES["periodic"], box=SMALL, sel=(30, 40)),
    environment("ProdEnvMatA", MESHES["open"], sel=(1, 2)),
    environment("ProdEnvMatA", MESHES["open"], types=np.array([0, 1, -1, 0, 1, -1, 0], np.int32)),
    environment("ProdEnvMatA", MESHES["open"], frames=0),
    *(environment("ProdEnvMatR", mesh, width=1) for mesh in MESHES.values()),
    *(environment("ProdEnvMatAMix", mesh, sel=(9,)) for mesh in MIXED.values()),
    environment("DescrptSeA", MESHES["open"]),
    environment("DescrptNorot", MESHES["periodic"]),
    environment("DescrptSeR", MESHES["open"], width=1),
    *(slopes(op, 4) for op in ("ProdForceSeA", "ProdForceNorot", "ProdVirialSeA", "ProdVirialNorot")),
    *(slopes(op, 1) for op in ("ProdForceSeR", "ProdVirialSeR")),
    *(slopes(op, 4, kind=np.float32) for op in ("ProdForceSeA", "ProdVirialSeA")),
    *(masked(kind=kind) for kind in (np.float64, np.float32)),
    masked(frames=1, mask=np.zeros((1, 7), np.int32)),
    masked(frames=0),
    masked(mask=MASK[:, :6], fails=True),
    *(masked_slopes(kind=kind) for kind in (np.float64, np.float32)),
    masked_slopes(frames=1, mask=np.zeros((1, 7), np.int32)),
]


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_atoms(c, ways):
    check("atoms", c, ways)
