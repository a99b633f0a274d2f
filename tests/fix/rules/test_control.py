"""Calls, branches and loops with their stateful or stateless counterparts."""

import numpy as np
import pytest
from tests.fix.rule_cases import apply, check, rule_case

from tfport.fix.rule import Refusal
from tfport.fix.rules.control import as_native_segment, as_stateful_twin, nothing

BODIES = """

def square(a: float32) -> (r: float32):
  m = Mul(a, a) {T=float32}
  return r=m

def same(a: float32) -> (r: float32):
  return r=a

def small(a: float32) -> (r: bool):
  ten = Const() {dtype=float32, value=float32()[10.0]}
  l = Less(a, ten) {T=float32}
  return r=l
"""
TYPES = "Tin=[float32], Tout=[float32]"
ENGINE = 'serialized_segment="", InT=[float32], OutT=[float32], workspace_size_bytes=0, precision_mode="FP16"'
BRANCHES = "then_branch=@square, else_branch=@same, output_shapes=[]"
CASES = [
    *(
        rule_case(as_stateful_twin, f"y = {line}{BODIES}", x=np.float32(3), p=np.bool_(p))
        for line in (
            f"StatelessIf(p, x) {{Tcond=bool, {TYPES}, {BRANCHES}}}",
            "StatelessWhile(x) {T=[float32], cond=@small, body=@square, output_shapes=[()]}",
            f"PartitionedCall(x) {{{TYPES}, f=@square}}",
        )
        for p in (True, False)
    ),
    *(
        rule_case(
            as_stateful_twin,
            f"y = StatelessCase(i, x) {{{TYPES}, branches=[@square, @same], output_shapes=[()]}}{BODIES}",
            x=np.float32(3),
            i=np.int32(i),
        )
        for i in (-1, 0, 1, 5)
    ),
    *(
        rule_case(
            as_native_segment,
            f"y = TRTEngineOp(x) {{{ENGINE}, {names}}}{BODIES}",
            x=np.float32(3),
            answers="tfport",  # TensorFlow 2.18 and later do not have the op
        )
        for names in (
            'segment_func=@square, segment_funcdef_name=""',
            "segment_func=@square",
            'segment_funcdef_name="square"',
        )
    ),
    rule_case(
        nothing,
        "h = VarHandleOp() {dtype=float32, shape=()}\n"
        "s = AssignVariableOp(h, x) {dtype=float32}\n"
        "d = DisableCopyOnRead(h, ^s)\n"
        "y = ReadVariableOp(h, ^d) {dtype=float32}",
        x=np.float32(3),
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_an_engine_without_its_function_stays():
    c = rule_case(as_native_segment, f"y = TRTEngineOp(x) {{{ENGINE}, segment_func=@lost}}", x=np.float32(3))
    with pytest.raises(Refusal, match="not the function that it was built from"):
        apply(as_native_segment, c.model())


def test_who_waited_for_nothing_still_waits_for_what_came_before():
    c = CASES[-1]
    model = c.model()
    assert apply(nothing, model) == ["NoOp"]
    waited = model.graph["y"].controls
    assert [node.op for node in waited] == ["NoOp"]
    assert [node.name for node in waited[0].controls] == ["s"]
