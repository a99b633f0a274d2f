"""Sessions: state, fetches and feeds by name, errors, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.recorded_models import load
from tests.runtime.programs import session_of

import tfport

COUNTER = """
    one = Const() {dtype=float32, value=float32()[1]}
    n = VarHandleOp() {dtype=float32, shape=(), shared_name="n"}
    zero = Const() {dtype=float32, value=float32()[0]}
    start = AssignVariableOp(n, zero) {dtype=float32}
    add = AssignAddVariableOp(n, one) {dtype=float32}
    read = ReadVariableOp(n, ^add) {dtype=float32}
    peek = ReadVariableOp(n) {dtype=float32}
"""


def test_variables_come_from_the_checkpoint():
    session = tfport.Session(load("module"))
    np.testing.assert_allclose(session.signature("serving_default")(x=[[1.0, 2.0]])["y"], [[6, 10, 14]])


def test_a_tensor_is_fetched_and_fed_by_name():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?,)}
        y = Neg(x) {T=float32}
        z = Mul(y, y) {T=float32}
    """)
    assert session.run("z:0", {"x:0": np.float32([2])}).tolist() == [4]
    assert session.run(["z:0"], {"y:0": np.float32([5])})[0].tolist() == [25]


def test_feeds_may_be_lists_of_numbers():
    session = session_of("x = Placeholder() {dtype=float32, shape=(?,)}\ny = Neg(x) {T=float32}")
    assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [-1, -2]


def test_state_is_kept_between_runs_and_is_not_treated_as_constant():
    session = session_of(COUNTER)
    session.run("start")
    assert session.run("peek:0") == 0
    assert [float(session.run("read:0")) for _ in range(3)] == [1, 2, 3]
    assert session.run("peek:0") == 3


def test_sessions_do_not_share_state():
    first, second = session_of(COUNTER), session_of(COUNTER)
    first.run("start")
    second.run("start")
    first.run("add")
    assert (first.run("peek:0"), second.run("peek:0")) == (1, 0)


def test_effects_of_concurrent_runs_all_count():
    session = session_of(COUNTER)
    session.run("start")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: session.run("add"), range(200)))
    assert session.run("peek:0") == 200


def test_concurrent_runs_get_their_own_outputs():
    session = tfport.Session(load("module"))
    call = session.signature("serving_default")
    inputs = [np.float32([[i, 2 * i]]) for i in range(50)]
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda x: call(x=x)["y"], inputs))
    for x, y in zip(inputs, outputs, strict=True):
        np.testing.assert_allclose(y, call(x=x)["y"])


def test_an_uninitialized_variable_is_named():
    with pytest.raises(tfport.RunFailed, match="variable `n` is uninitialized"):
        session_of(COUNTER).run("peek:0")


INVALID = [
    ({}, r"placeholder `x:0` must be fed"),
    ({"x:0": np.float32([[1]])}, r"`x:0` must have shape \(\?,\), got \(1, 1\)"),
    ({"x:0": np.float64([1])}, "`x:0` must be float32, got float64"),
    ({"x:0": ["a"]}, "`x:0` must be float32, got"),
    ({"w:0": [1]}, "there is no tensor `w:0`"),
]


@pytest.mark.parametrize(("feeds", "message"), INVALID)
def test_invalid_feeds_are_errors(feeds, message):
    session = session_of("x = Placeholder() {dtype=float32, shape=(?,)}\ny = Neg(x) {T=float32}")
    with pytest.raises(tfport.Error, match=message):
        session.run("y:0", feeds)


UNFIT = [  # type, fed value, what the error says
    ("string", [1], "`x:0` must be string: text or bytes, got the int 1"),
    ("string", [1.5, "b"], "`x:0` must be string: text or bytes, got the float 1.5"),
    ("string", [None], "`x:0` must be string: text or bytes, got the NoneType None"),
    ("uint8", [300], r"`x:0` must be uint8 \(0 to 255\), got 300"),
    ("uint8", 256, r"`x:0` must be uint8 \(0 to 255\), got 256"),
    ("uint8", [3, -1], r"`x:0` must be uint8 \(0 to 255\), got -1"),
    ("int32", [2**31], r"`x:0` must be int32 \(-2147483648 to 2147483647\), got 2147483648"),
    ("int64", [2**63], r"`x:0` must be int64 .* got 9223372036854775808"),
    ("uint64", [2**64], r"`x:0` must be uint64 .* got 18446744073709551616"),
    ("int4", [9], r"`x:0` must be int4 \(-8 to 7\), got 9"),
    ("int4", [1.5], "`x:0` must be int4, got float64"),
    ("int32", [1.0], "`x:0` must be int32, got float64"),
    ("int32", [None], "`x:0` must be int32, got None"),
    ("float32", [1.5, None], "`x:0` must be float32, got None"),
    ("bool", [1], "`x:0` must be bool, got int64"),
    ("float32", [10**400], "`x:0` must be float32, got an integer that is too large"),
    ("float32", [[1], [2, 3]], "`x:0` must be a rectangular float32 array, got nested lists of different"),
    ("string", [["a"], ["b", "c"]], "`x:0` must be a rectangular string array, got nested lists"),
    ("bfloat16", ["a"], "`x:0` must be bfloat16, got strings"),
]


@pytest.mark.parametrize(("dtype", "value", "message"), UNFIT)
def test_values_outside_of_the_type_are_errors(dtype, value, message):
    session = session_of(f"x = Placeholder() {{dtype={dtype}, shape=(...)}}\ny = Identity(x) {{T={dtype}}}")
    with pytest.raises(tfport.RunFailed, match=message):
        session.run("y:0", {"x:0": value})


CONVERTED = [  # type, fed value, the output; TensorFlow 2.21 outputs the same
    ("uint8", [0, 255], [0, 255]),
    ("int32", [True], [1]),
    ("uint64", [2**63], [2**63]),
    ("float32", [2**24 + 1], [2.0**24]),
    ("float32", [2**64], [2.0**64]),
    ("float32", [True], [1.0]),
    ("float32", [1e39], [float("inf")]),
    ("float16", [70000], [float("inf")]),
    ("bfloat16", [300], [300.0]),
    ("int4", [-8, 7], [-8, 7]),
    ("int4", [], []),
    ("string", ["a\0", b"b\0"], [b"a\0", b"b\0"]),
]


@pytest.mark.parametrize(("dtype", "value", "output"), CONVERTED)
@pytest.mark.filterwarnings("error")
def test_lists_are_converted_to_the_type_of_the_input(dtype, value, output):
    session = session_of(f"x = Placeholder() {{dtype={dtype}, shape=(...)}}\ny = Identity(x) {{T={dtype}}}")
    assert session.run("y:0", {"x:0": value}).tolist() == output


def test_all_errors_in_the_inputs_of_a_signature_are_listed():
    session = tfport.Session(load("module"))
    with pytest.raises(tfport.Error, match="`z` is not an input; `x` is missing; its inputs are x"):
        session.signature("serving_default")(z=1)


def test_an_output_that_does_not_exist_is_an_error():
    session = session_of("x = Placeholder() {dtype=float32, shape=()}\ny = Neg(x) {T=float32}")
    with pytest.raises(tfport.MalformedGraph, match=r"`y` \(Neg\) has no output 3"):
        session.run("y:3", {"x:0": 1.0})


def test_all_ops_without_a_kernel_are_listed_before_anything_runs():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(2,)}
        a = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
        b = Acme>Op(a)
    """)
    with pytest.raises(
        tfport.CannotRun, match=r"2 nodes cannot run here: `a` \(NcclAllReduce\).*`b` \(Acme>Op\)"
    ):
        session.run("b:0", {"x:0": [1, 2]})


def test_an_error_names_the_node_and_the_op():
    session = session_of("""
        x = Placeholder() {dtype=string, shape=()}
        n = StringToNumber(x) {out_type=float32}
    """)
    with pytest.raises(tfport.RunFailed, match=r"`n` \(StringToNumber\): "):
        session.run("n:0", {"x:0": "cat"})


def test_a_batch_may_have_any_size():
    call = tfport.Session(load("module")).signature("serving_default")
    for size in (1, 3, 0, 7):
        assert call(x=np.ones((size, 2), np.float32))["y"].shape == (size, 3)


def test_an_unknown_rank_is_taken_from_the_feed():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(...)}
        y = Softmax(x) {T=float32}
    """)
    assert session.run("y:0", {"x:0": np.zeros((2, 4), np.float32)}).tolist() == [[0.25] * 4] * 2
    assert session.run("y:0", {"x:0": np.zeros((1, 1, 2), np.float32)}).tolist() == [[[0.5] * 2]]
