"""Variables get their values without running the restore op; if that is not possible, it runs."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from tests.recorded_models import path_of

import tfport
from tfport.runtime import session as session_module
from tfport.runtime.custom.registry import Registry

MODELS = ["module", "keras_lstm", "ref_variables", "resource_variables", "sharded_checkpoint"]


def values_of(session: tfport.Session) -> dict[str, list]:
    return {variable.name: np.asarray(variable.value).tolist() for variable in session.state.variables()}


@pytest.fixture
def ran(monkeypatch):
    """Whether the restore op ran."""
    calls = []
    check = session_module.check_restorable
    monkeypatch.setattr(session_module, "check_restorable", lambda model: calls.append(check(model)))
    return calls


@pytest.mark.parametrize("name", MODELS)
def test_variables_have_the_values_that_the_restore_op_gives_them(name, ran, monkeypatch):
    plain = tfport.Session(path_of(name))
    assert not ran
    monkeypatch.setattr(session_module, "restore_plainly", lambda *_: False)
    usual = tfport.Session(path_of(name))
    assert ran
    assert values_of(plain) == values_of(usual)
    assert {v.name: (v.dtype, v.shape) for v in plain.state.variables()} == {
        v.name: (v.dtype, v.shape) for v in usual.state.variables()
    }


def test_a_custom_kernel_of_the_restore_op_runs(ran):
    registry = Registry()
    values = {b"b": np.full(3, 7, np.float32), b"w": np.ones((2, 3), np.float32), b"calls": np.int32(1)}

    @registry.kernel("RestoreV2")
    def restore(prefix, tensor_names, shape_and_slices, *, dtypes):
        return [np.asarray(values.get(name.partition(b"/")[0], b"")) for name in tensor_names]

    session = tfport.Session(path_of("module"), registry=registry)
    assert ran
    assert values_of(session)["b"] == [7, 7, 7]


def test_a_damaged_file_is_an_error_of_the_restore_op(ran, tmp_path, monkeypatch):
    shutil.copytree(path_of("module"), tmp_path / "m")
    data = tmp_path / "m/variables/variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:4])
    with pytest.raises(tfport.Error) as plain:
        tfport.Session(str(tmp_path / "m"))
    assert ran
    monkeypatch.setattr(session_module, "restore_plainly", lambda *_: False)
    with pytest.raises(tfport.Error) as usual:
        tfport.Session(str(tmp_path / "m"))
    assert str(plain.value) == str(usual.value)
