"""Generated inputs for signatures: Examples, matching components, sizes and edge cases."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.certify.models import frozen, saved
from tests.recorded_models import load, shared

import tfport
from tfport.fix.certify.inputs.arrays import ORDINARY, PROFILES, array_of, seed_for
from tfport.fix.certify.inputs.examples import WantedFeature
from tfport.fix.certify.inputs.input_roles import roles_of
from tfport.fix.certify.inputs.input_uses import decides_sizes
from tfport.fix.certify.inputs.vocabulary_words import graph_words
from tfport.fix.certify.trials import Sizing, TrialBuilder, user_trials, warmup_trials
from tfport.fix.certify.verify import verify
from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.saved_model.warmup import PREDICT, REGRESS, WarmupRequest
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.select_signature import select_signature

F32, I64, TEXT = DType.parse("float32"), DType.parse("int64"), DType.parse("string")
KEYS = """
    s = Placeholder() {dtype=string, shape=(?,)}
    names = Const() {dtype=string, value=string(0,)[]}
"""
PARSERS = {
    "ParseExampleV2": KEYS + """
        sk = Const() {dtype=string, value=string(1,)["words"]}
        dk = Const() {dtype=string, value=string(2,)["age", "x"]}
        rk = Const() {dtype=string, value=string(1,)["tags"]}
        d0 = Const() {dtype=int64, value=int64(1,)[7]}
        d1 = Const() {dtype=float32, value=float32(0,)[]}
        p = ParseExampleV2(s, names, sk, dk, rk, d0, d1) {Tdense=[int64, float32], num_sparse=1, \
sparse_types=[string], ragged_value_types=[int64], ragged_split_types=[int64], dense_shapes=[(1,), (2, 3)]}
    """,
    "ParseExample": KEYS + """
        sk = Const() {dtype=string, value=string()["words"]}
        dk0 = Const() {dtype=string, value=string()["age"]}
        dk1 = Const() {dtype=string, value=string()["x"]}
        d0 = Const() {dtype=int64, value=int64(1,)[7]}
        d1 = Const() {dtype=float32, value=float32(0,)[]}
        i = Identity(s) {T=string}
        p = ParseExample(i, names, sk, dk0, dk1, d0, d1) {Nsparse=1, Ndense=2, sparse_types=[string], \
Tdense=[int64, float32], dense_shapes=[(1,), (2, 3)]}
    """,
    "ParseSingleExample": """
        s = Placeholder() {dtype=string, shape=()}
        d0 = Const() {dtype=int64, value=int64(1,)[7]}
        d1 = Const() {dtype=float32, value=float32(0,)[]}
        p = ParseSingleExample(s, d0, d1) {num_sparse=1, sparse_keys=["words"], dense_keys=["age", "x"], \
sparse_types=[string], Tdense=[int64, float32], dense_shapes=[(1,), (2, 3)]}
    """,
}  # fmt: skip
WANTED = {
    "words": WantedFeature("words", TEXT),
    "age": WantedFeature("age", I64, Shape((1,)), optional=True),
    "x": WantedFeature("x", F32, Shape((2, 3)), optional=False),
}


@pytest.mark.parametrize("op", PARSERS)
def test_a_node_that_parses_examples_says_which_features_it_wants(op):
    model = frozen(PARSERS[op])
    role = roles_of(model, select_signature(model)).of("s:0")
    wanted = {feature.key: feature for feature in role.examples}
    assert {key: wanted[key] for key in WANTED} == WANTED
    assert set(wanted) - set(WANTED) == ({"tags"} if op == "ParseExampleV2" else set())


@pytest.mark.parametrize("op", PARSERS)
@pytest.mark.parametrize("profile", [ORDINARY, *PROFILES], ids=lambda f: f.name)
def test_a_model_that_parses_examples_takes_those_made_up(op, profile):
    model = frozen(PARSERS[op])
    signature = select_signature(model)
    builder = TrialBuilder(model, signature)
    trial = builder.trial(builder.sizings()[0][-1], profile)
    first = pb.Example.FromString(np.ravel(trial.inputs["s"])[0])
    assert set(first.features.feature) >= set(WANTED)
    assert len(first.features.feature["x"].float_list.value) == 6
    tfport.Session(model).run(
        [n for s in signature.outputs.values() for n in s.tensors], {"s": trial.inputs["s"]}
    )


def test_keys_and_text_are_followed_into_functions_and_out_of_them():
    model = load("estimator")
    nodes = {node.op for node in model.graph}
    assert "ParseExampleV2" in nodes
    builder = TrialBuilder(model, model.signatures["serving_default"])
    (array,) = builder.trial(Sizing(3, 4), ORDINARY).inputs.values()
    parsed = [pb.Example.FromString(record) for record in array]
    assert len(parsed) == 3
    assert all(len(message.features.feature["x"].float_list.value) == 2 for message in parsed)


@pytest.mark.parametrize("name", ["ragged", "sparse"])
def test_parts_that_the_exporter_flattened_fit_together(name):
    model = shared(name)
    session, signature = tfport.Session(model), model.signatures["serving_default"]
    builder = TrialBuilder(model, signature)
    for sizing in builder.sizings()[0]:
        for profile in (ORDINARY, *builder.profiles()):
            answers = session.signature("serving_default")(**builder.trial(sizing, profile).inputs)
            assert set(answers) == set(signature.outputs)


def test_the_parts_of_a_sparse_tensor_are_found_by_the_ops_that_read_them():
    model = frozen("""
        i = Placeholder() {dtype=int64, shape=(?, 2)}
        v = Placeholder() {dtype=float32, shape=(?,)}
        s = Placeholder() {dtype=int64, shape=(2,)}
        zero = Const() {dtype=float32, value=float32()[0]}
        dense = SparseToDense(i, s, v, zero) {T=float32, Tindices=int64}
        r = SparseReorder(i, v, s) {T=float32}
    """)
    builder = TrialBuilder(model, select_signature(model))
    inputs = builder.trial(Sizing(3, 4), ORDINARY).inputs
    assert inputs["s"].tolist() == [3, 4]
    assert inputs["i"].shape == (len(inputs["v"]), 2)
    assert (inputs["i"] < inputs["s"]).all()
    flat = inputs["i"] @ [4, 1]
    assert (np.diff(flat) > 0).all()


def test_row_splits_count_what_the_next_ones_split():
    model = shared("ragged")
    inputs = TrialBuilder(model, model.signatures["serving_default"]).trial(Sizing(5, 4), ORDINARY).inputs
    values, splits = inputs["args_0"], inputs["args_0_1"]
    assert len(splits) == 6
    assert splits[0] == 0
    assert splits[-1] == len(values)
    assert (np.diff(splits) >= 0).all()


SIZES = [  # what reads n, an int32 scalar, and whether a large n would be costly
    ("y = Fill(v, c) {T=float32, index_type=int32}", True),
    ("y = Range(zero, n, one) {Tidx=int32}", True),
    ("y = Range(zero, twice, one) {Tidx=int32}", True),
    ("y = OneHot(v, n, c, c) {T=float32, TI=int32}", True),
    ("y = AddV2(n, one) {T=int32}", False),
    ("y = GatherV2(table, n, zero) {Taxis=int32, Tindices=int32, Tparams=float32}", False),
    ("y = Less(n, one) {T=int32}", False),
]


@pytest.mark.parametrize(("line", "decides"), SIZES)
def test_a_number_that_would_be_a_size_is_not_made_huge(line, decides):
    model = frozen(f"""
        n = Placeholder() {{dtype=int32, shape=()}}
        zero = Const() {{dtype=int32, value=int32()[0]}}
        one = Const() {{dtype=int32, value=int32()[1]}}
        c = Const() {{dtype=float32, value=float32()[1]}}
        table = Const() {{dtype=float32, value=float32(2,)[1, 2]}}
        twice = Mul(n, one) {{T=int32}}
        v = Pack(n) {{N=1, T=int32}}
        {line}
    """)
    assert decides_sizes(model.graph.value("n:0")) is decides
    huge = [p.name for p in TrialBuilder(model, select_signature(model, None, ["y"])).profiles() if p.huge]
    assert bool(huge) is not decides


def test_the_same_inputs_are_made_each_time():
    first, other = (
        TrialBuilder(load("keras_functional"), load("keras_functional").signatures["serve"]).trial(
            Sizing(2, 4), ORDINARY
        )
        for _ in range(2)
    )
    for name, array in first.inputs.items():
        np.testing.assert_array_equal(array, other.inputs[name])


def test_open_sizes_get_several_and_fixed_ones_one():
    open_ones = frozen("x = Placeholder() {dtype=float32, shape=(?, ?, 3)}\ny = Neg(x) {T=float32}")
    fixed = frozen("x = Placeholder() {dtype=float32, shape=(2, 3)}\ny = Neg(x) {T=float32}")
    shapes = [
        sizing.shape(Shape((None, None, 3)))
        for sizing in TrialBuilder(open_ones, select_signature(open_ones)).sizings()[0]
    ]
    assert {shape[0] for shape in shapes} >= {1, 2, 5}
    assert len({shape[1] for shape in shapes}) > 1
    assert sum(map(len, TrialBuilder(fixed, select_signature(fixed)).sizings())) == 1


def test_a_tensor_that_no_machine_holds_is_not_made_up():
    model = frozen("x = Placeholder() {dtype=float32, shape=(99999999, 99999)}\ny = Neg(x) {T=float32}")
    with pytest.raises(tfport.Error, match="too large to generate"):
        TrialBuilder(model, select_signature(model)).trial(Sizing(1, 1), ORDINARY)


def test_text_that_must_be_a_number_or_an_image_is_one():
    model = frozen("""
        n = Placeholder() {dtype=string, shape=(?,)}
        i = Placeholder() {dtype=string, shape=()}
        number = StringToNumber(n) {out_type=float32}
        image = DecodePng(i) {channels=3, dtype=uint8}
    """)
    inputs = TrialBuilder(model, select_signature(model)).trial(Sizing(3, 4), ORDINARY).inputs
    answers = tfport.Session(model).run(["number:0", "image:0"], inputs)
    assert answers[0].shape == (3,)
    assert answers[1].shape == (24, 20, 3)


TYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 uint64 bool string complex64 int4"


@pytest.mark.parametrize("name", TYPES.split())
@pytest.mark.parametrize("profile", [ORDINARY, *PROFILES], ids=lambda f: f.name)
def test_every_flavour_has_values_of_every_type(name, profile):
    dtype = DType.parse(name)
    array = array_of(dtype, (3, 2), profile, np.random.default_rng(seed_for(name)))
    assert array.shape == (3, 2)
    assert array.dtype == dtype.numpy
    if dtype.is_floating and profile.finite:
        assert np.isfinite(array.astype(np.float64)).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=4),
    st.sampled_from([ORDINARY, *PROFILES]),
    st.sampled_from(["float32", "int64", "string", "bool"]),
)
def test_what_is_made_up_has_the_shape_of_the_signature(dims, profile, kind):
    sizes = "".join(f"{'?' if d is None else d}, " for d in dims)
    model = frozen(f"x = Placeholder() {{dtype={kind}, shape=({sizes})}}\ny = Identity(x) {{T={kind}}}")
    builder = TrialBuilder(model, select_signature(model))
    for sizing in builder.sizings()[0]:
        (array,) = builder.trial(sizing, profile).inputs.values()
        assert Shape(tuple(dims)).fits(Shape(array.shape))


def test_what_was_given_is_tried_where_a_signature_takes_it(tmp_path):
    text = "x = Placeholder() {dtype=float32, shape=(?,)}\ny = Neg(x) {T=float32}"
    signature = saved(tmp_path / "m", text, {"x": "x:0"}, {"y": "y:0"}).signatures["serving_default"]
    (trial,) = user_trials(signature, [{"x": np.float32([1]), "unused": np.float32([2])}])
    assert list(trial.inputs) == ["x"]
    assert list(user_trials(signature, [{"other": np.float32([1])}])) == []
    assert list(user_trials(signature, [])) == []
    several = user_trials(signature, [{"x": np.float32([i])} for i in range(3)])
    assert [trial.name for trial in several] == ["given 1", "given 2", "given 3"]


def test_warm_up_requests_go_to_the_signature_that_they_name():
    signature = shared("estimator").signatures["regression"]
    examples = np.array([b""], object)
    requests = [
        WarmupRequest("regression", REGRESS, {"": examples}),
        WarmupRequest("", REGRESS, {"": examples}),
        WarmupRequest("regression", PREDICT, {"no_such_input": examples}),
    ]
    (trial,) = warmup_trials(signature, requests, "serving_default")
    assert trial.inputs == {"inputs": examples}
    assert trial.name == "warm-up 1"


def builder_of(text: str, fetch: str = "y", words: tuple[bytes, ...] = ()) -> TrialBuilder:
    model = frozen(text)
    return TrialBuilder(model, select_signature(model, None, [fetch]), words)


PADDED = next(profile for profile in PROFILES if profile.padded)
LOOKUP = """
    x = Placeholder() {dtype=float32, shape=(?, 8)}
    i = Cast(x) {SrcT=float32, DstT=int32}
    t = Const() {dtype=float32, value=float32(5,1)[1, 2, 3, 4, 5]}
    axis = Const() {dtype=int32, value=int32()[0]}
    y = GatherV2(t, i, axis) {Tparams=float32, Tindices=int32, Taxis=int32}
"""


def test_ids_select_all_rows_of_a_table_also_after_a_cast():
    ids = builder_of(LOOKUP).trial(Sizing(5, 4), ORDINARY).inputs["x"]
    assert set(ids.ravel().tolist()) == {0, 1, 2, 3, 4}


def test_padded_rows_end_in_zeros_in_the_same_places_of_each_input():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, 4)}
        s = Placeholder() {dtype=string, shape=(?, 4)}
        m = Placeholder() {dtype=bool, shape=(?, 4)}
        y = Acme(x, s, m)
    """
    made = builder_of(text).trial(Sizing(3, 4), PADDED).inputs
    for array, nothing in ((made["x"], 0), (made["s"], b""), (made["m"], False)):
        filled = [[element != nothing for element in row] for row in array.tolist()]
        assert not any([*filled[0][2:], *filled[1]])
    assert all([*made["x"][2], *made["x"][0, :2], *made["s"][2]])


def test_segment_ids_are_sorted():
    text = """
        x = Placeholder() {dtype=float32, shape=(?,)}
        s = Placeholder() {dtype=int32, shape=(?,)}
        y = SegmentSum(x, s) {T=float32, Tindices=int32}
    """
    positive = next(profile for profile in PROFILES if profile.name == "positive")
    ids = builder_of(text).trial(Sizing(9, 9), positive).inputs["s"]
    assert ids.tolist() == sorted(ids.tolist())
    assert len(set(ids.tolist())) > 2


def test_strings_have_the_words_of_a_model():
    text = "x = Placeholder() {dtype=string, shape=(?,)}\ny = StringLower(x)"
    strings = builder_of(text, words=(b"river", b"rises")).trial(Sizing(30, 4), ORDINARY).inputs["x"].tolist()
    assert {b"river", b"rises", b"riverxrises", b"river rises", b"a"} <= set(strings)


def test_the_words_of_a_graph_are_its_constants_and_the_literals_of_its_patterns():
    model = frozen(r"""
        x = Placeholder() {dtype=string, shape=(?,)}
        r = StaticRegexReplace(x) {pattern="<br ?/>|[0-9]+\\s&amp", rewrite=" ", replace_global=true}
        word = Const() {dtype=string, value=string()["yes"]}
        y = Equal(r, word) {T=string}
    """)
    assert graph_words(model) == [b"<br ", b"/>", b"&amp", b"yes"]


def test_lines_have_the_fields_that_are_parsed():
    text = """
        x = Placeholder() {dtype=string, shape=(?,)}
        a = Const() {dtype=float32, value=float32(1,)[0]}
        b = Const() {dtype=string, value=string(1,)[""]}
        c = Const() {dtype=int64, value=int64(1,)[0]}
        y = DecodeCSV(x, a, b, c) {OUT_TYPE=[float32, string, int64], field_delim=";"}
    """
    for profile in (ORDINARY, *PROFILES):
        lines = builder_of(text).trial(Sizing(4, 4), profile).inputs["x"].tolist()
        rows = list(
            csv.reader([line.decode(errors="replace").replace("\0", "") for line in lines], delimiter=";")
        )
        assert all(len(row) == 3 and int(row[2]) is not None for row in rows)


def test_a_sound_is_long_enough_for_a_frame():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?)}
        at = Const() {dtype=int32, value=int32(2,)[0, 500]}
        to = Const() {dtype=int32, value=int32(2,)[0, 0]}
        by = Const() {dtype=int32, value=int32(2,)[1, 1]}
        y = StridedSlice(x, at, to, by) {T=float32, Index=int32, begin_mask=1, end_mask=3}
    """
    (comparison,) = verify(frozen(text), frozen(text)).comparisons
    assert comparison.outputs["y"].elements > 1000


BOXES = """
    boxes = Placeholder() {dtype=float32, shape=(?, 4)}
    scores = Placeholder() {dtype=float32, shape=(?,)}
    most = Const() {dtype=int32, value=int32()[3]}
    overlap = Const() {dtype=float32, value=float32()[0.5]}
    y = NonMaxSuppressionV2(boxes, scores, most, overlap) {T=float32, T_threshold=float32}
"""


PLAIN = """
    scores = Placeholder() {dtype=float32, shape=(?,)}
    y = Exp(scores) {T=float32}
"""


@pytest.mark.parametrize(("text", "tries"), [(BOXES, False), (PLAIN, True)])
def test_equal_scores_are_not_tried_where_they_decide_which_boxes_are_selected(text, tries):
    model = frozen(text)
    names = [profile.name for profile in TrialBuilder(model, select_signature(model, None, ["y"])).profiles()]
    assert ("zeros" in names, "ones" in names) == (tries, tries)
    assert {"positive", "some zeros"} <= set(names)
