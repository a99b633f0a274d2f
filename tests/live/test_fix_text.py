"""Text preprocessing rewritten with the ops of 1.4.1: TensorFlow's outputs stay the same."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import RULES, Rulebook
from tfport.fix.structure.function_bodies import drop_lost_colocations
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.tables import tables_to_v1
from tfport.graph.build import graph_to_def
from tfport.graph.inline import callee, inline
from tfport.graph.reach import needed_by

v1 = tf.compat.v1
TEXTS = ["A good film!<br />Bad  ", "", " Ünder, bad"]
PUNCTUATION = r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']'
ENDS = ["ids", "grams", "length", "init"]


def text_to_numbers():
    with tf.Graph().as_default() as made:
        text = v1.placeholder(tf.string, [None], name="text")
        words = tf.constant(["a", "bad", "good film"])
        filled = tf.lookup.KeyValueTensorInitializer(words, tf.constant([2, 3, 4], tf.int64))
        table = tf.lookup.StaticHashTable(filled, 1)
        plain = tf.strings.regex_replace(tf.strings.lower(tf.strings.strip(text)), "<br />", " ")
        plain = tf.strings.regex_replace(plain, PUNCTUATION, "")
        grams = tf.strings.ngrams(tf.strings.split(plain), (1, 2))
        ids = tf.RaggedTensor.from_nested_row_splits(table.lookup(grams.flat_values), grams.nested_row_splits)
        tf.identity(ids.to_tensor(shape=[None, 6]), name="ids")
        tf.identity(grams.to_tensor(""), name="grams")
        tf.identity(tf.strings.length(plain, "UTF8_CHAR"), name="length")
        v1.tables_initializer(name="init")
    return made.as_graph_def()


def answers(record):
    with tf.Graph().as_default() as made:
        tf.import_graph_def(record, name="")
    with v1.Session(graph=made) as session:
        session.run("init")
        return [a.tolist() for a in session.run([f"{name}:0" for name in ENDS[:3]], {"text:0": TEXTS})]


def test_text_becomes_the_same_numbers():
    record = text_to_numbers()
    model = tfport.load(record.SerializeToString())
    while calls := [node for node in model.graph if callee(node) is not None]:
        for call in calls:
            inline(call)
    lower_all(model.graph)
    model.graph.library.functions.clear()
    tables_to_v1(model.graph)
    checker, journal = NodeChecker(resolve_targets("tensorflow==1.4.1")[0], 24), Journal()
    assert not RuleEngine(checker, Rulebook((), RULES), Facts(model), journal).rewrite(model.graph, ENDS)
    model.graph.prune(needed_by([model.graph[name] for name in ENDS]))
    drop_lost_colocations(model.graph)
    assert not [node for node in model.graph if checker.unresolved(node)]
    made = v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString())
    assert answers(made) == answers(record)
