"""Results compared with TensorFlow 2.4.4, which still had these ops (`tests.live.record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, graph_case, i32, run

import tfport
from tfport.runtime.ops.io.descriptors import messages
from tfport.runtime.ops.training.tree_ensembles import TREE_MESSAGES

TREES = messages("tfport.trees", TREE_MESSAGES)


def leaf(*values):
    made = TREES["Leaf"]()
    if len(values) == 1:
        made.scalar = values[0]
    else:
        made.vector.value.extend(values)
    return made


def node(parts):
    """A leaf is its values; a split is (kind, feature, dimension, threshold, left, right, values before)."""
    made = TREES["Node"]()
    if not isinstance(parts[0], str):
        made.leaf.CopyFrom(leaf(*parts))
        return made
    kind, feature, dimension, threshold, left, right, *before = parts
    split = made.bucketized_split if kind == "<=" else made.categorical_split
    split.SetInParent()
    split.feature_id, split.dimension_id, split.threshold = feature, dimension, threshold
    split.left_id, split.right_id = left, right
    made.metadata.gain = 1.5
    if before:
        made.metadata.original_leaf.CopyFrom(leaf(*before))
    return made


def ensemble(*trees, weights=(1.0, 0.5, 0.25), finalized=(True, False, True)):
    made = TREES["TreeEnsemble"]()
    for tree, weight, done in zip(trees, weights, finalized, strict=False):
        made.trees.add().nodes.extend(map(node, tree))
        made.tree_weights.append(weight)
        made.tree_metadata.add(num_layers_grown=2, is_finalized=done)
    made.growing.num_layers_attempted = 5
    made.growing.last_layer_node_start, made.growing.last_layer_node_end = 1, 3
    out = np.empty((), object)
    out[()] = made.SerializeToString()
    return out


BIAS = [(0.7,)]
DEEP = [("<=", 0, 0, 2, 1, 2, 0.1), ("<=", 1, 0, 5, 3, 4, 0.2), (0.3,), (-1.25,), (2.5,)]
EQUAL = [("==", 1, 0, 4, 1, 2, 0.0), (10.0,), (-10.0,)]
WIDE = [("<=", 0, 1, 2, 1, 2, 0.1), (1.0,), (-1.0,)]
CLASSES = [("<=", 0, 0, 2, 1, 2), (1.0, 2.0, 3.0), (-1.0, -2.0, 0.5)]
EMPTY = ensemble()

READ = """
    t = Placeholder() {dtype=int64, shape=()}
    e = Placeholder() {dtype=string, shape=()}
    h = BoostedTreesEnsembleResourceHandleOp() {container="", shared_name="trees"}
    c = BoostedTreesCreateEnsemble(h, t, e)
"""
FEATURES = "".join(f"f{i} = Placeholder() {{dtype=int32, shape=(%s)}}\n" for i in range(2))
ASK = "y = %s(h, f0, f1, ^c) {num_bucketized_features=2, logits_dimension=%d}\n"
STATES = "y = BoostedTreesGetEnsembleStates(h, ^c)\nz = IsBoostedTreesEnsembleInitialized(h, ^c)\n"
AGAIN = """
    e2 = Placeholder() {dtype=string, shape=()}
    d = BoostedTreesDeserializeEnsemble(h, t, e2, ^c)
    y = BoostedTreesSerializeEnsemble(h, ^d)
    z = BoostedTreesGetEnsembleStates(h, ^y)
"""
QUANTILES = """
    a = Placeholder() {dtype=float32}
    b = Placeholder() {dtype=float32}
    eps = Const() {dtype=float32, value=float32()[0.1]}
    n = Const() {dtype=int64, value=int64()[2]}
    h = BoostedTreesQuantileStreamResourceHandleOp() {container="", shared_name="q"}
    i0 = IsBoostedTreesQuantileStreamResourceInitialized(h)
    c = BoostedTreesCreateQuantileStreamResource(h, eps, n, ^i0) {max_elements=1000}
    i = IsBoostedTreesQuantileStreamResourceInitialized(h, ^c)
    d = BoostedTreesQuantileStreamResourceDeserialize(h, a, b, ^i) {num_streams=2}
    y = BoostedTreesQuantileStreamResourceGetBucketBoundaries(h, ^d) {num_features=2}
"""
TOKEN = {"t": np.int64(3)}


def predict(trees, f0, f1, *, logits=1, op="BoostedTreesPredict", fails=False):
    shape = "?" if f0.ndim == 1 else "?, ?"
    text = READ + FEATURES.replace("%s", shape) + ASK % (op, logits)
    return graph_case(text, fetches="y:0", name=op, e=trees, f0=f0, f1=f1, fails=fails, **TOKEN)


X, Y = i32(0, 2, 3, 9, 2), i32(4, 5, 6, 4, 9)
OLD_CASES = [
    predict(ensemble(BIAS, DEEP, EQUAL), X, Y),
    predict(ensemble(DEEP), X[:, None], Y[:, None]),
    predict(ensemble(WIDE), np.stack([Y, X], 1), Y[:, None]),
    predict(ensemble(CLASSES), X[:, None], Y[:, None], logits=3),
    predict(EMPTY, X, Y),
    predict(ensemble(BIAS), X[:0, None], Y[:0, None]),
    predict(ensemble(DEEP, EQUAL, BIAS), X[:, None], Y[:, None], op="BoostedTreesExampleDebugOutputs"),
    graph_case(
        READ + STATES, fetches=[f"y:{i}" for i in range(5)] + ["z:0"], e=ensemble(BIAS, DEEP), **TOKEN
    ),
    graph_case(READ + STATES, fetches=[f"y:{i}" for i in range(5)] + ["z:0"], e=ensemble(BIAS), **TOKEN),
    graph_case(READ + STATES, fetches=[f"y:{i}" for i in range(5)], e=EMPTY, **TOKEN),
    graph_case(READ + AGAIN, fetches=["y:0", "y:1", "z:1"], e=EMPTY, e2=ensemble(BIAS, EQUAL), **TOKEN),
    graph_case(READ + STATES, fetches="y:0", e=np.array(b"nonsense", object), fails=True, **TOKEN),
    graph_case(
        'h = BoostedTreesEnsembleResourceHandleOp() {container="", shared_name="none"}\n'
        "y = BoostedTreesGetEnsembleStates(h)\n",
        fetches="y:0",
        fails=True,
    ),
    graph_case(QUANTILES, fetches=["y:0", "y:1", "i:0"], a=f32(1, 2, 3), b=f32(0.5)),
    case("BoostedTreesBucketize", [f32(-1, 0, 1, 1.5, 2, 9)], [f32(0, 1, 2)]),
    case("BoostedTreesBucketize", [f32(-1, 5), f32(0, 1, 2)], [f32(3), f32(0.5, 1.5)]),
    case("BoostedTreesBucketize", [f32([1], [2], [3])], [f32(0, 2)], fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_boosted_trees(c, ways):
    check("boosted_trees", c, ways)


def test_a_tree_with_a_cycle_is_an_error():
    cycle = [("<=", 0, 0, 2, 1, 2), ("<=", 0, 0, 9, 1, 1), (0.3,)]
    with pytest.raises(tfport.Error, match="has a cycle"):
        run(predict(ensemble(cycle), X, Y), "host")


def test_a_split_on_a_missing_feature_is_an_error():
    missing = [("<=", 7, 0, 2, 1, 2), (0.1,), (0.3,)]
    with pytest.raises(
        tfport.Error, match=r"uses feature 7, dimension 0, but the dimensions .* are \[1, 1\]"
    ):
        run(predict(ensemble(missing), X, Y), "host")
