"""Programs: what they read from the program around them, and who computes and reads what."""

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


def chain():
    """A program of two steps, and a third that passes its input on."""
    first = Step("first", "Neg", (A,), (B,))
    second = Step("second", "Add", (B, B), (SUM,))
    return Program([A], [first, second, Step("same", "Reshape", (SUM,), (SUM,))], [SUM])


def test_the_producer_computes_an_operand_and_does_not_pass_it_on():
    program = chain()
    first, second, same = program.steps
    assert [program.producer(operand) for operand in (A, B, SUM)] == [None, first, second]
    assert program.producer(SUM, "Add", "Sub") is second
    assert program.producer(SUM, "Reshape") is None
    assert [list(program.readers(operand)) for operand in (A, B, SUM, C)] == [[first], [second], [same], []]


def test_links_are_those_of_the_present_steps():
    program = chain()
    _, second, same = program.steps
    other = Step("other", "Square", (A,), (SUM,))
    assert program.producer(SUM) is second
    program.replace({second: [other]})
    assert program.steps == [other, same]
    assert program.producer(SUM) is other
    assert program.producer(B) is None
    assert list(program.readers(A)) == [other]
