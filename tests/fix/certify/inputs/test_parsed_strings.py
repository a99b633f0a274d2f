"""Strings that a model parses: SequenceExamples, and images in base64."""

from __future__ import annotations

import pytest
from tests.fix.certify.models import frozen

import tfport
from tfport.fix.certify.inputs.arrays import ORDINARY, PROFILES
from tfport.fix.certify.inputs.input_roles import roles_of
from tfport.fix.certify.trials import Sizing, TrialBuilder
from tfport.formats.proto import serving_pb2 as pb
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.select_signature import select_signature

EMPTY = "names = Const() {dtype=string, value=string(0,)[]}\n"
SEQUENCES = {
    "ParseSequenceExampleV2": EMPTY + """
        s = Placeholder() {dtype=string, shape=(?,)}
        none = Const() {dtype=string, value=string(0,)[]}
        cd = Const() {dtype=string, value=string(1,)["user"]}
        fs = Const() {dtype=string, value=string(1,)["words"]}
        fd = Const() {dtype=string, value=string(1,)["time"]}
        fr = Const() {dtype=string, value=string(1,)["item"]}
        may = Const() {dtype=bool, value=bool(1,)[false]}
        d = Const() {dtype=int64, value=int64()[7]}
        p = ParseSequenceExampleV2(s, names, none, cd, none, fs, fd, fr, may, d) {Ncontext_sparse=0, \
Tcontext_dense=[int64], context_sparse_types=[], context_ragged_value_types=[], \
context_ragged_split_types=[], context_dense_shapes=[()], Nfeature_list_sparse=1, Nfeature_list_dense=1, \
feature_list_dense_types=[float32], feature_list_sparse_types=[string], \
feature_list_ragged_value_types=[int64], feature_list_ragged_split_types=[int32], \
feature_list_dense_shapes=[(2,)]}
    """,
    "ParseSequenceExample": EMPTY + """
        s = Placeholder() {dtype=string, shape=(?,)}
        d = Const() {dtype=int64, value=int64()[7]}
        p = ParseSequenceExample(s, names, d) {feature_list_dense_missing_assumed_empty=[], \
context_sparse_keys=[], context_dense_keys=["user"], feature_list_sparse_keys=["words"], \
feature_list_dense_keys=["time"], Ncontext_sparse=0, Ncontext_dense=1, Nfeature_list_sparse=1, \
Nfeature_list_dense=1, context_sparse_types=[], Tcontext_dense=[int64], feature_list_dense_types=[float32], \
context_dense_shapes=[()], feature_list_sparse_types=[string], feature_list_dense_shapes=[(2,)]}
    """,
    "ParseSingleSequenceExample": """
        s = Placeholder() {dtype=string, shape=()}
        may = Const() {dtype=string, value=string(0,)[]}
        cd = Const() {dtype=string, value=string()["user"]}
        fs = Const() {dtype=string, value=string()["words"]}
        fd = Const() {dtype=string, value=string()["time"]}
        d = Const() {dtype=int64, value=int64()[7]}
        name = Const() {dtype=string, value=string()[""]}
        p = ParseSingleSequenceExample(s, may, cd, fs, fd, d, name) {Ncontext_sparse=0, Ncontext_dense=1, \
Nfeature_list_sparse=1, Nfeature_list_dense=1, context_sparse_types=[], Tcontext_dense=[int64], \
feature_list_dense_types=[float32], context_dense_shapes=[()], feature_list_sparse_types=[string], \
feature_list_dense_shapes=[(2,)]}
    """,
}  # fmt: skip


@pytest.mark.parametrize("op", SEQUENCES)
def test_a_node_that_parses_sequence_examples_takes_those_generated(op):
    model = frozen(SEQUENCES[op])
    signature = select_signature(model)
    wanted = roles_of(model, signature).of("s:0").sequences
    assert {(f.key, f.dtype) for f in wanted.context} == {("user", DType.parse("int64"))}
    (time,) = (feature for feature in wanted.lists if feature.key == "time")
    assert (time.dtype, time.shape) == (DType.parse("float32"), Shape((2,)))
    session, names = tfport.Session(model), [n for s in signature.outputs.values() for n in s.tensors]
    for profile in (ORDINARY, *PROFILES):
        for attempt in range(3):
            trial = TrialBuilder(model, signature).trial(Sizing(3, 4), profile, attempt)
            session.run(names, {"s": trial.inputs["s"]})


def test_the_first_sequence_example_has_a_step_of_every_list():
    model = frozen(SEQUENCES["ParseSequenceExampleV2"])
    trial = TrialBuilder(model, select_signature(model)).trial(Sizing(3, 4), ORDINARY)
    lists = pb.SequenceExample.FromString(trial.inputs["s"][0]).feature_lists.feature_list
    assert set(lists) == {"words", "time", "item"}
    assert len({len(steps.feature) for steps in lists.values()}) == 1
    assert len(lists["time"].feature) >= 1


def test_an_image_in_base64_is_one():
    model = frozen("""
        s = Placeholder() {dtype=string, shape=()}
        raw = DecodeBase64(s)
        y = DecodeImage(raw) {channels=3, dtype=uint8, expand_animations=true}
    """)
    signature = select_signature(model)
    trial = TrialBuilder(model, signature).trial(Sizing(1, 4), ORDINARY)
    (image,) = tfport.Session(model).run(["y:0"], {"s": trial.inputs["s"]})
    assert image.shape == (24, 20, 3)
