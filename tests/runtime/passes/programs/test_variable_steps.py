"""Reads and assignments of variables one after another are one host step, in the same order as others."""

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.operand import Operand
from tfport.runtime.passes.programs.host_steps import variable_accesses
from tfport.runtime.program import Step
from tfport.runtime.state import State


@pytest.fixture
def state():
    return State()


def handle(state, name):
    return Operand(DType.parse("resource"), value=state.variable(name, FLOAT32, None), name=name)


def read(state, name):
    out = Operand(FLOAT32, None, name=name)
    return Step(name, "ReadVariableOp", (handle(state, name),), (out,), run=lambda inputs: [inputs[0].read()])


def assign(state, name, value):
    def run(inputs):
        inputs[0].assign(inputs[1])
        return ()

    return Step(name, "AssignVariableOp", (handle(state, name), value), (), run=run, effect=True)


def other():
    return Step("other", "Relu", (Operand(FLOAT32, ()),), (Operand(FLOAT32, ()),))


def test_only_neighbors_of_one_kind_are_joined(state):
    x = Operand(FLOAT32, ())
    steps = [
        read(state, "a"), read(state, "b"), other(), assign(state, "a", x), assign(state, "b", x),
        read(state, "a"), other(), read(state, "b"),
    ]  # fmt: skip
    joined = list(variable_accesses(steps))
    ops = ["ReadVariableOp", "Relu", "AssignVariableOp", "ReadVariableOp", "Relu", "ReadVariableOp"]
    assert [step.op for step in joined] == ops
    assert joined[0].outputs == (*steps[0].outputs, *steps[1].outputs)
    assert joined[2].inputs == (x, x)
    assert [step.effect for step in joined] == [False, False, True, False, False, False]
    assert joined[3:] == steps[5:]


def test_a_joined_step_reads_and_assigns_each_variable(state):
    x, y = Operand(FLOAT32, ()), Operand(FLOAT32, ())
    (both,) = variable_accesses([assign(state, "a", x), assign(state, "b", y), assign(state, "a", y)])
    assert both.run([np.float32([1]), np.float32([2]), np.float32([3])]) == ()
    (values,) = variable_accesses([read(state, "b"), read(state, "a")])
    assert [array.tolist() for array in values.run([])] == [[2], [3]]


def test_a_variable_without_a_value_is_named(state):
    state.variable("a", FLOAT32, None).assign(np.float32([1]))
    (values,) = variable_accesses([read(state, "a"), read(state, "unset")])
    with pytest.raises(RunFailed, match="unset"):
        values.run([])


def test_handles_that_are_computed_are_left(state):
    unknown = Step("v", "ReadVariableOp", (Operand(DType.parse("resource"), ()),), (Operand(FLOAT32, None),))
    steps = [unknown, unknown]
    assert list(variable_accesses(steps)) == steps
