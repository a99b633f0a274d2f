"""Generated systems of atoms fit the ops of DeePMD-kit that read them."""

import numpy as np
import pytest
from tests.fix.certify.models import frozen

import tfport
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.trials import Sizing, TrialBuilder
from tfport.runtime.select_signature import select_signature

SYSTEM = """
    t_coord = Placeholder() {dtype=float64, shape=(?,)}
    t_type = Placeholder() {dtype=int32, shape=(?,)}
    t_natoms = Placeholder() {dtype=int32, shape=(4,)}
    t_box = Placeholder() {dtype=float64, shape=(?, 9)}
    t_mesh = Placeholder() {dtype=int32, shape=(?,)}
    row = Const() {dtype=int32, value=int32(2,)[1, -1]}
    coord = Reshape(t_coord, row) {T=float64}
    type = Reshape(t_type, row) {T=int32}
"""
ENVIRONMENT = """
    mean = ZerosLike(scale) {T=float64}
    scale = Fill(shape, one) {T=float64}
    shape = Const() {dtype=int32, value=int32(2,)[2, 12]}
    one = Const() {dtype=float64, value=float64()[1.0]}
    y = ProdEnvMatA(coord, type, t_natoms, t_box, t_mesh, mean, scale) {T=float64, rcut_a=-1.0, rcut_r=9.0, \
rcut_r_smth=0.5, sel_a=[2, 1], sel_r=[0, 0]}
"""
MASKED = """
    t_aparam = Placeholder() {dtype=float64, shape=(?,)}
    ones = Cast(t_aparam) {SrcT=float64, DstT=int32}
    mask = Reshape(ones, row) {T=int32}
    y = DescrptSeAMask(coord, type, mask, t_box, t_natoms, t_mesh) {T=float64}
    f = ProdForceSeAMask(y:0, y:1, mask, y:3) {T=float64, total_atom_num=5}
"""


def inputs_of(model, rows):
    trial = TrialBuilder(model, select_signature(model)).trial(Sizing(rows, 4), ORDINARY)
    return trial.inputs


@pytest.mark.parametrize("rows", [1, 3])
def test_a_system_has_as_many_atoms_of_each_type(rows):
    model = frozen(SYSTEM + ENVIRONMENT)
    inputs = inputs_of(model, rows)
    assert inputs["t_natoms"].tolist() == [2 * rows, 2 * rows, rows, rows]
    assert inputs["t_type"].tolist() == [0] * rows + [1] * rows
    near = tfport.Session(model).run(["y:3"], {f"{name}:0": array for name, array in inputs.items()})[0]
    assert np.count_nonzero(near >= 0) > 0


def test_a_graph_made_for_a_number_of_atoms_gets_that_many():
    model = frozen(SYSTEM + MASKED)
    inputs = inputs_of(model, 2)
    assert inputs["t_natoms"].tolist() == [5, 5, 3, 2]
    assert inputs["t_aparam"].shape == (5,)
    assert tfport.Session(model).run(["f:0"], {f"{k}:0": v for k, v in inputs.items()})[0].shape == (1, 15)
