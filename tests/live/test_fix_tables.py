"""Tables in other forms, and as constants: TensorFlow's outputs stay the same."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow as tf
from tests.fix.structure.table_programs import AS_CONSTANTS, PROGRAMS, Program
from tests.fix.structure.test_constant_tables import without_tables
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.tables import imports_to_initializers, tables_to_v1, tables_to_v2
from tfport.graph.build import graph_to_def


def answers(of, program: Program, first=()):
    record = tf.compat.v1.GraphDef.FromString(graph_to_def(of).SerializeToString())
    with tf.Graph().as_default() as made:
        tf.import_graph_def(record, name="")
    with tf.compat.v1.Session(graph=made) as session:
        for name in first:
            session.run(name)
        return session.run(list(program.fetches), program.feeds)


def changed(text, *changes):
    made = graph(text)
    for change in changes:
        change(made)
    return made


def assert_equal(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tolist() == np.asarray(b).tolist()


CHANGES = {
    "v1": (tables_to_v1,),
    "v1 and v2": (tables_to_v1, tables_to_v2),
    "initialized": (imports_to_initializers,),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_give_the_same_answers(name, how):
    program = PROGRAMS[name]
    expected = answers(graph(program.text), program)
    assert_equal(answers(changed(program.text, *CHANGES[how]), program), expected)


@pytest.mark.parametrize("before", [(), (tables_to_v1,)], ids=["resources", "references"])
@pytest.mark.parametrize("name", AS_CONSTANTS)
def test_comparisons_give_the_same_answers(name, before):
    program = PROGRAMS[name]
    expected = answers(graph(program.text), program)
    assert_equal(answers(changed(program.text, *before, without_tables), program), expected)


@pytest.mark.parametrize("changes", [(tables_to_v1,), (without_tables,)], ids=["v1", "constants"])
def test_tables_are_initialized_in_a_separate_run(changes):
    program = PROGRAMS["constant"]
    text = program.text.replace(", ^init", "").replace("(t) {Tk", "(t, ^init) {Tk")
    first = ["init"]
    expected = answers(graph(text), program, first)
    assert_equal(answers(changed(text, *changes), program, first), expected)
    assert [a.tolist() for a in expected] == [[[20, -1], [30, 10]], 3]


def looked_up_in_a_loop():
    """A loop of TF2 whose body looks up a table that was made outside."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as made:
        v1.enable_control_flow_v2()
        asked = v1.placeholder(tf.string, [None], name="asked")
        filled = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([10, 20], tf.int64))
        table = tf.lookup.StaticHashTable(filled, -1)
        _, total = tf.while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, s + tf.reduce_sum(table.lookup(asked))),
            [0, tf.constant(0, tf.int64)],
        )
        tf.identity(total, name="y")
        v1.tables_initializer(name="init")
    return tfport.load(made.as_graph_def().SerializeToString())


@pytest.mark.parametrize("change", [tables_to_v1, without_tables], ids=["v1", "constants"])
def test_a_loop_keeps_its_table(change):
    model = looked_up_in_a_loop()
    assert lower_all(model.graph) == 1
    model.graph.library.functions.clear()
    assert change(model.graph)
    program = Program("", {"asked:0": np.array([b"a", b"?", b"b"], object)}, ("y:0",))
    assert answers(model.graph, program, ["init"]) == [87]
    assert not any(node.op.endswith("V2") and "Table" in node.op for node in model.graph)
