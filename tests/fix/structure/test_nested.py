"""Nested branches, loops and calls give the expected outputs after lowering."""

import numpy as np
import tests.fix.structure.nested_programs as programs
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.lower import lower_all
from tfport.graph.build import graph_to_def
from tfport.graph.inline import callee, inline
from tfport.graph.op_facts.kinds import FUNCTIONAL

NUMBERS = st.integers(-3, 4)


def lowered(text):
    made = graph(text)
    while calls := [node for node in made if callee(node) is not None]:
        for call in calls:
            inline(call)
    lower_all(made)
    return made


@settings(max_examples=25, deadline=None)
@given(programs.PROGRAMS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3))
def test_a_program_answers_as_before(program, pairs):
    made = lowered(programs.text_of(program))
    assert not any(node.op in FUNCTIONAL or callee(node) is not None for node in made)
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    for a, b in pairs:
        actual = session.run(["c:0", "d:0"], {"a:0": np.int32(a), "b:0": np.int32(b)})
        assert tuple(map(int, actual)) == programs.answer(program, a, b)


@settings(max_examples=40, deadline=None)
@given(programs.PROGRAMS)
def test_whatever_has_no_input_in_a_body_hangs_on_a_pivot(program):
    made = graph(programs.text_of(program))
    places = tuple(f"{node.name}/" for node in made if node.op in FUNCTIONAL and _chooses(node))
    lower_all(made)
    for node in made:
        if node.name.startswith(places) and places and not node.inputs:
            assert node.controls, node


def _chooses(node):
    """A Case with one branch runs unconditionally."""
    return len(node.attrs.get("branches", "..")) > 1
