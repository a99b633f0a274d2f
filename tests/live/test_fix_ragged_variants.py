"""Ragged tensors without variants: TensorFlow's outputs stay the same."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import pytest
import tensorflow as tf
from tests.fix.structure.test_ragged_variants import HEAD, PASSED
from tests.recorded_models import graph
from tests.runtime.cases import f32, i64

from tfport.fix.structure.ragged_variants import drop_ragged_variants
from tfport.graph.build import graph_to_def


def answers(of):
    record = tf.compat.v1.GraphDef.FromString(graph_to_def(of).SerializeToString())
    with tf.Graph().as_default() as made:
        tf.import_graph_def(record, name="")
    with tf.compat.v1.Session(graph=made) as session:
        arrays = session.run(["u:0", "u:1"], {"s:0": i64(0, 2, 2, 3), "v:0": f32(1, 2, 3)})
    return [array.tolist() for array in arrays]


@pytest.mark.parametrize("name", PASSED)
def test_tensorflow_gives_the_same_answers(name):
    made = graph(HEAD + PASSED[name])
    before = answers(made)
    assert drop_ragged_variants(made)
    assert answers(made) == before
