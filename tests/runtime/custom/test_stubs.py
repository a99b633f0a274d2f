"""Stubs replace ops without a kernel, for one session."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.programs import session_of

import tfport

MODEL = """
    x = Placeholder() {dtype=float32, shape=(?,)}
    s = Acme>Scale(x) {T=float32, by=3.0, mode="fast"}
    y = Neg(s) {T=float32}
"""
SIGNATURE = "Acme>Scale: (x: T) -> y: T; T: type; by: float"
BODY = """
    def scale(x: float32) -> (y: float32):
      two = Const() {dtype=float32, value=float32()[2]}
      m = Mul(x, two) {T=float32}
      return y=m
"""


def run(stubs, text=MODEL):
    return session_of(text, stubs=stubs).run("y:0", {"x:0": [1, 2]}).tolist()


def test_a_function_gets_the_attributes_that_it_names():
    assert run({SIGNATURE: lambda x: x + 1}) == [-2, -3]
    assert run({SIGNATURE: lambda x, *, by: x * np.float32(by)}) == [-3, -6]
    assert run([tfport.stub(SIGNATURE, lambda x, *, context: x * len(context.name))]) == [-1, -2]


def test_a_subgraph_is_text_or_a_function_of_a_model():
    assert run({"Acme>Scale": BODY}) == [-2, -4]
    assert run({"Acme>Scale": graph(BODY).library.functions["scale"]}) == [-2, -4]


def test_a_subgraph_may_be_generic_and_is_lowered():
    body = """
        def twice(x: $T) -> (y: $T):
          a = AddV2(x, x) {T=$T}
          return y=a
    """
    session = session_of(MODEL, stubs={"Acme>Scale": body})
    assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [-2, -4]
    assert session.program(["y:0"], ["x:0"]).is_lowered


def test_an_op_that_tensorflow_defines_needs_no_signature():
    text = """
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
    """
    assert run({"NcclAllReduce": lambda x: x}, text) == [1, 2]


def test_a_stub_affects_only_its_session():
    assert run({SIGNATURE: lambda x: x}) == [-1, -2]
    with pytest.raises(tfport.CannotRun, match="replace it with `tfport\\.stub`"):
        run(None)


WRONG = [  # stubs                                    message
    ({"Acme>Scale": lambda x: x}, "Acme>Scale is not defined, so its stub needs a signature"),
    ({SIGNATURE: lambda x, y: x}, "the stub of Acme>Scale takes 2 inputs; expected 1"),
    ({SIGNATURE: lambda x, *, to: x}, "the stub takes `to`, which is not an attribute of Acme>Scale"),
    ({"Acme>Scale": 3}, "Acme>Scale: a stub must be a function or a graph, got int"),
    ({"Acme>Scale": "y = Neg(x)"}, "there is no tensor `x`"),
    ({"Acme>Scale": "# nothing"}, "Acme>Scale: the text has no function"),
    ({SIGNATURE: BODY}, "a subgraph has its own signature; expected only the name of the op"),
]


@pytest.mark.parametrize(("stubs", "message"), WRONG)
def test_an_invalid_stub_is_an_error(stubs, message):
    with pytest.raises(tfport.Error, match=message):
        run(stubs)
