"""The order of effects in a plan: accesses of one variable follow each other, other effects follow all."""

import numpy as np
from tests.runtime.programs import session_of

from tfport.runtime.plan import cut_into_stages

STATES = """
    x = Placeholder() {dtype=float32, shape=(2, 2)}
    p = VarHandleOp() {dtype=float32, shape=(2, 2), shared_name="p"}
    q = VarHandleOp() {dtype=float32, shape=(2, 2), shared_name="q"}
    zero = Const() {dtype=float32, value=float32(2, 2)[1, 0, 0, 1]}
    start_p = AssignVariableOp(p, zero) {dtype=float32}
    start_q = AssignVariableOp(q, zero) {dtype=float32}
    old_p = ReadVariableOp(p) {dtype=float32}
    a = MatMul(x, old_p) {T=float32, transpose_a=false, transpose_b=false}
    keep_p = AssignVariableOp(p, a, ^old_p) {dtype=float32}
    old_q = ReadVariableOp(q, ^keep_p) {dtype=float32}
    b = MatMul(a, old_q) {T=float32, transpose_a=false, transpose_b=false}
    keep_q = AssignVariableOp(q, b, ^old_q) {dtype=float32}
    y = Identity(b, ^keep_q) {T=float32}
"""
AGAIN = (
    STATES
    + """
    new_p = ReadVariableOp(p, ^keep_q) {dtype=float32}
    z = MatMul(b, new_p) {T=float32, transpose_a=false, transpose_b=false}
"""
)
X = np.float32([[1, 2], [3, 4]])


def started(text):
    session = session_of(text)
    session.run(["start_p", "start_q"])
    session.run(["y:0"], {"x:0": np.eye(2, dtype=np.float32)})  # now known to change
    return session


def stages(session, fetch):
    return [stage.lowered for stage in cut_into_stages(session.program([fetch], ["x:0"]), session.engine)]


def test_states_of_several_variables_need_one_island():
    assert stages(started(STATES), "y:0") == [False, True, False]


def test_a_value_that_was_assigned_is_read_after_it():
    session = started(AGAIN)
    assert stages(session, "z:0") == [False, True, False, True]
    np.testing.assert_array_equal(session.run("z:0", {"x:0": X}), X @ X)


def test_states_are_kept_in_the_order_of_the_calls():
    session = started(STATES)
    for expected in (X, X @ X @ X, X @ X @ X @ X @ X @ X):
        np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), expected)
