"""Programs: what they read from the program around them."""

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.operand import Operand
from tfport.runtime.program import Program, Step

A, B, C, SUM = (Operand(FLOAT32, (), name=name) for name in "abcs")


def test_captures_are_what_it_reads_from_outside():
    constant = Operand(FLOAT32, value=np.float32([1]))
    program = Program([A], [Step("s", "AddN", (A, B, constant), (SUM,))], [SUM, C])
    assert list(program.captures()) == [B, C]


def test_captures_are_found_again_for_other_steps_or_results():
    program = Program([A], [Step("s", "Add", (A, B), (SUM,))], [SUM])
    assert list(program.captures()) == [B]
    program.results = [SUM, C]
    assert list(program.captures()) == [B, C]
    program.steps = []
    assert list(program.captures()) == [SUM, C]
