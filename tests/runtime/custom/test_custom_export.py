"""Export of custom ops: lowered ones are exported, those with only a host kernel are listed."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.export import export_signature
from tfport.runtime.select_signature import select_signature

MODEL = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    a = Acme>Gelu(x)
    y = Neg(a) {T=float32}
"""


def gelu(b, x):
    half = b.const(0.5, x.dtype)
    inside = b.Mul(x, b.const(1.702, x.dtype))
    return b.Mul(x, b.Add(half, b.Sub(b.Sigmoid(inside), half)))


def gelu_in_numpy(x):
    return x / (1 + np.exp(-1.702 * x))


def registry_with(**kernels):
    registry = tfport.Registry()
    registry.op("Acme>Gelu: (x: float) -> y: float", shape=lambda x: x)
    for name, function in kernels.items():
        registry.kernel("Acme>Gelu", lowers=name == "lowered")(function)
    return registry


@pytest.mark.parametrize("kernels", [{"lowered": gelu}, {"lowered": gelu, "host": gelu_in_numpy}])
def test_a_lowered_op_is_exported(kernels, tmp_path):
    session = session_of(MODEL, registry=registry_with(**kernels))
    path = str(tmp_path / "m.onnx")
    export_signature(session, select_signature(session.model), path)
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    (actual,) = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(actual, session.run("y:0", {"x:0": x}), rtol=1e-6)
    np.testing.assert_allclose(actual, -gelu_in_numpy(x), rtol=1e-5)


def test_an_op_without_a_lowering_is_named(tmp_path):
    session = session_of(MODEL, registry=registry_with(host=gelu_in_numpy))
    message = r"1 node cannot be exported to ONNX, only run: `a` \(Acme>Gelu\): it has no lowering"
    with pytest.raises(tfport.CannotRun, match=message):
        export_signature(session, select_signature(session.model), str(tmp_path / "m.onnx"))
    assert not list(tmp_path.iterdir())


def test_a_stub_of_standard_ops_is_exported(tmp_path):
    body = """
        def gelu(x: float32) -> (y: float32):
          s = Sigmoid(x) {T=float32}
          m = Mul(x, s) {T=float32}
          return y=m
    """
    session = session_of(MODEL, stubs={"Acme>Gelu": body})
    export_signature(session, select_signature(session.model), str(tmp_path / "m.onnx"))
    assert (tmp_path / "m.onnx").exists()
