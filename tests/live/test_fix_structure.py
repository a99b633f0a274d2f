"""Branches, loops and lists in TF1's form: the outputs of TensorFlow and tfport stay the same."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from tests.fix.structure import nested_programs
from tests.fix.structure.test_nested import lowered
from tests.live import answers
from tests.live.structure_programs import PROGRAMS, Program, tf, v1
from tests.live.test_inline import inline_all
from tests.recorded_models import EXPECTED, load, of_kind, path_of

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.raise_control import raise_control
from tfport.fix.structure.tensor_lists import lists_to_arrays
from tfport.graph.build import graph_to_def
from tfport.graph.inline import callee, inline
from tfport.graph.op_facts.kinds import FUNCTIONAL
from tfport.graph.reach import needed_by

KEPT = {"loops_v2": "TensorListPopBack"}  # gradients take elements away
OURS_DIFFERS = {"array_never_set"}  # before and after: a list that a loop of no turns leaves unset
LOWER = {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}


def flat(record):
    """The model whose calls are inlined in its main graph."""
    model = tfport.load(record.SerializeToString())
    while calls := [node for node in model.graph if callee(node) is not None]:
        for call in calls:
            inline(call)
    return model


def theirs(record, program):
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(record, name="")
    with v1.Session(graph=graph) as session:
        if program.before:
            session.run(program.before)
        return [session.run(program.fetches, feeds) for feeds in program.feeds]


def ours(data, program):
    session = tfport.Session(tfport.load(data))
    if program.before:
        session.run(program.before)
    return [session.run(program.fetches, feeds) for feeds in program.feeds]


def assert_same(actual, expected, **tolerance):
    for left, right in zip(actual, expected, strict=True):
        for a, b in zip(left, right, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.shape == b.shape
            if b.dtype.kind == "f":
                np.testing.assert_allclose(a, b, **(tolerance or {"rtol": 1e-6, "atol": 1e-7}))
            else:
                assert np.array_equal(a, b)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowered_it_answers_as_before(name):
    program = PROGRAMS[name]()
    expected = theirs(program.graph, program)
    model = flat(program.graph)
    assert lower_all(model.graph)
    assert not any(node.op in FUNCTIONAL or callee(node) for node in model.graph)
    model.graph.library.functions.clear()
    data = graph_to_def(model.graph).SerializeToString()
    assert_same(theirs(v1.GraphDef.FromString(data), program), expected)
    if name not in OURS_DIFFERS:
        assert_same(ours(data, program), expected, rtol=1e-5, atol=1e-6)


LISTS = [name for name in PROGRAMS if name.startswith(("keras", "array", "map"))]


@pytest.mark.parametrize("name", LISTS)
def test_with_arrays_for_lists_it_answers_as_before(name):
    program = PROGRAMS[name]()
    expected = theirs(program.graph, program)
    model = flat(program.graph)
    lower_all(model.graph)
    assert any(node.op.startswith("TensorList") for node in model.graph)
    lists_to_arrays(model.graph)
    assert not any(node.op.startswith("TensorList") for node in model.graph)
    model.graph.library.functions.clear()
    data = graph_to_def(model.graph).SerializeToString()
    assert_same(theirs(v1.GraphDef.FromString(data), program), expected)
    if name not in OURS_DIFFERS:
        assert_same(ours(data, program), expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(nested_programs.PROGRAMS)
def test_whatever_is_nested_in_what_tensorflow_answers_as_it_should(program):
    made = lowered(nested_programs.text_of(program))
    with tf.Graph().as_default() as whole:
        v1.import_graph_def(v1.GraphDef.FromString(graph_to_def(made).SerializeToString()), name="")
    with v1.Session(graph=whole) as session:
        for a, b in [(0, 0), (1, 2), (3, -1)]:
            actual = session.run(["c:0", "d:0"], {"a:0": a, "b:0": b})
            assert tuple(map(int, actual)) == nested_programs.answer(program, a, b)


@pytest.mark.parametrize("name", of_kind("saved_model", "graph_def"))
def test_recorded_models_answer_as_before(name, tmp_path):
    model = load(name)
    if name != "list_arguments":
        inline_all(model.graph)
    if not any(node.op in FUNCTIONAL for node in model.graph):
        pytest.skip("it has no functional branch or loop")
    lower_all(model.graph)
    if name in KEPT:
        with pytest.raises(StructureRefusal, match=KEPT[name]):
            lists_to_arrays(model.graph)
    else:
        lists_to_arrays(model.graph)
    tfport.save(model, str(tmp_path / "model"))
    kind = EXPECTED[name]["kind"]
    before = answers.answers(kind, Path(path_of(name)))
    after = answers.answers(kind, tmp_path / "model")
    answers.assert_same({key: after[key] for key in before}, before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowered_and_raised_again_it_answers_as_before(name):
    program = PROGRAMS[name]()
    expected = theirs(program.graph, program)
    model = flat(program.graph)
    lower_all(model.graph)
    model.graph.library.functions.clear()
    if name != "case_of_one":
        assert raise_control(model.graph)
    assert not any(node.op in LOWER for node in model.graph)
    record = v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString())
    assert_same(theirs(record, program), expected)


TF1 = {  # what to fetch, before any gradients, and what to feed
    "loops": (["outer/Exit_1:0"], [np.float32(x) for x in (0.5, 1.5, 3.0, 20.0)]),
    "tensor_arrays": (
        ["scan/TensorArrayStack/TensorArrayGatherV3:0"],
        [np.ones((4, 2), np.float32)],
    ),
}


@pytest.mark.parametrize("name", TF1)
def test_loops_of_tf1_raised_answer_as_before(name):
    fetches, given_x = TF1[name]
    program = Program(None, fetches, [{"x:0": x} for x in given_x], [])
    model = load(name)
    expected = theirs(v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString()), program)
    model.graph.prune(needed_by([model.graph.value(fetch).node for fetch in fetches]))
    assert raise_control(model.graph)
    assert not any(node.op in LOWER for node in model.graph)
    record = v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString())
    assert_same(theirs(record, program), expected)


def test_loops_whose_effects_gradients_need_stay():
    with pytest.raises(StructureRefusal, match="is not part of a recognized branch or loop"):
        raise_control(load("loops").graph)
