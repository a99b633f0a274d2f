"""Errors of kernels and lowerings name the node, and tell the model's faults from bugs in tfport."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.failures import naming_node, planning_error
from tfport.runtime.implementations import BUILT_IN
from tfport.runtime.lower import Implementation

IMAGE = "x = Placeholder() {dtype=float32, shape=(1, 2, 2, 4)}"
FIXED = f"x = Const() {{dtype=float32, value=float32(1,2,2,4){[0] * 16}}}"
ZERO_DIVISIONS = [
    ("y = DepthToSpace(x) {T=float32, block_size=0}", "its attribute `block_size` is 0; expected at least 2"),
    ("y = SpaceToDepth(x) {T=float32, block_size=0}", "its attribute `block_size` is 0; expected at least 2"),
]


@pytest.mark.parametrize("x", [IMAGE, FIXED], ids=["fed", "constant"])
@pytest.mark.parametrize(("node", "sentence"), ZERO_DIVISIONS)
@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_a_division_by_zero_is_an_error_that_names_the_attribute(engine, node, sentence, x):
    session = session_of(f"{x}\n{node}", engine=engine)
    feeds = {"x:0": np.ones((1, 2, 2, 4), np.float32)} if x is IMAGE else {}
    with pytest.raises(tfport.Error, match=f"`y`.*{sentence}"):
        session.run("y:0", feeds)


def failing(error):
    def run(inputs):
        raise error

    return naming_node(run, "y", "Neg")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ZeroDivisionError("division by zero"), r"`y` \(Neg\): division by zero"),
        (FloatingPointError("overflow"), r"`y` \(Neg\): overflow"),
        (KeyError("k"), r"`y` \(Neg\): there is no entry 'k'"),
        (ValueError(), r"`y` \(Neg\): ValueError"),
    ],
)
def test_values_that_a_kernel_cannot_handle_fail_the_run(error, sentence):
    with pytest.raises(tfport.RunFailed, match=sentence):
        failing(error)([])


@pytest.mark.parametrize("error", [TypeError("not a number"), AttributeError("no size")])
def test_a_bug_in_a_kernel_is_an_internal_error(error):
    with pytest.raises(tfport.InternalError, match=r"`y` \(Neg\): internal error of tfport while running"):
        failing(error)([])


def test_a_resource_of_the_wrong_kind_is_a_fault_of_the_model():
    class Table:
        pass

    run = naming_node(lambda inputs: inputs[0].read(), "y", "ReadVariableOp")
    with pytest.raises(tfport.RunFailed, match=r"cannot use a resource of the kind Table"):
        run([Table()])


@pytest.mark.parametrize("value", [None, np.zeros(2)], ids=["nothing", "tensor"])
def test_what_is_no_resource_is_an_internal_error(value):
    run = naming_node(lambda inputs: inputs[0].read(), "y", "ReadVariableOp")
    with pytest.raises(
        tfport.InternalError, match=r"`y` \(ReadVariableOp\): internal error .* no attribute 'read'"
    ):
        run([value])


def test_a_bug_in_a_lowering_is_an_internal_error(monkeypatch):
    def lowering(b, x, *, T):
        return x.no_such_thing

    BUILT_IN.lowerings_of("Neg")
    monkeypatch.setitem(BUILT_IN.lowerings, "Neg", [Implementation("Neg", lowering, frozenset("T"), {})])
    session = session_of(f"{IMAGE}\ny = Neg(x) {{T=float32}}")
    with pytest.raises(
        tfport.InternalError, match=r"`y` \(Neg\): internal error of tfport while planning.*no_such_thing"
    ):
        session.run("y:0", {"x:0": np.ones((1, 2, 2, 4), np.float32)})


def test_a_node_that_contradicts_its_op_is_a_fault_of_the_model():
    error = planning_error(TypeError("bug"), "y", "Neg", None, {"T": 3}, [])
    assert isinstance(error, tfport.MalformedGraph)
    assert str(error) == (
        "`y` does not match the definition of op Neg: its attribute `T` is of type int; expected type; "
        "it has 0 inputs; expected 1"
    )
