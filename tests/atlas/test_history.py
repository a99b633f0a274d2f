"""The history of ops, compared with what the real binaries have."""

import pytest

from tfport.atlas.atlas import atlas
from tfport.atlas.history import op_history
from tfport.atlas.op_definitions import definition_changes, register_op
from tfport.atlas.op_search import later_ops, search_ops, suggestions
from tfport.atlas.release_spans import Span, spans
from tfport.formats.proto.graph_pb2 import DT_FLOAT, OpDef

RELEASES = [  # op          since      until
    ("BatchMatMulV2",      "1.14.0",  None),
    ("BatchMatMulV3",      "2.6.0",   None),
    ("FusedBatchNormV3",   "1.14.0",  None),
    ("DisableCopyOnRead",  "2.10.0",  None),
    ("AddV2",              "1.5.0",   None),
    ("TRTEngineOp",        "1.15.0",  "2.17.1"),
]  # fmt: skip
CHANGES = [  # op           release    description
    ("FusedBatchNormV3",   "2.2.0",   "attribute exponential_avg_factor: float = 1 added"),
    ("FusedBatchNormV3",   "2.4.0",   "attribute data_format also accepts 'NDHWC', 'NCDHW'"),
    ("FusedBatchNormV3",   "2.9.0",   "attribute U also accepts bfloat16"),
    ("BatchMatMulV2",      "2.16.1",  "attribute grad_x: bool = false added"),
    ("VarHandleOp",        "2.15.0",  "attribute debug_name: string = '' added"),
    ("TopKV2",             "2.13.0",  "output indices is index_type, was int32"),
    ("WriteScalarSummary", "1.5.0",   "input global_step was renamed to step"),
    ("InPolymorphicTwice", "2.1.0",   "attribute T now has a default: int32"),
]  # fmt: skip
KERNELS = [  # op           device  type         releases of `tensorflow`
    ("FusedBatchNormV3",   "CPU",  "float32",   "since 1.14.0"),
    ("FusedBatchNormV3",   "CPU",  "bfloat16",  "since 2.5.0"),
    ("FusedBatchNormV3",   "GPU",  "float16",   "1.15.0, since 2.1.0"),
    ("BatchMatMulV2",      "CPU",  "int16",     "since 2.4.0"),
    ("CudnnRNNV2",         "GPU",  "float64",   "1.15.0, since 2.1.0"),
    ("CudnnRNNV2",         "GPU",  "bfloat16",  "since 2.13.0"),
    ("BoostedTreesBucketize", "CPU", "",        None),
]  # fmt: skip


@pytest.mark.parametrize(("op", "since", "until"), RELEASES)
def test_first_and_last_release_of_an_op(op, since, until):
    history = op_history(atlas(), op)
    assert (history.since, history.until) == (since, until)


def test_a_removed_op_has_a_last_release():
    assert op_history(atlas(), "CompareAndBitpack").until == "2.5.3"


def test_stock_1_4_has_hash_tables():
    assert "HashTableV2" in atlas().source(atlas().find("tensorflow", "1.4.0")).ops()
    assert op_history(atlas(), "HashTableV2").until is None


@pytest.mark.parametrize(("op", "release", "says"), CHANGES)
def test_changes_of_a_definition_as_text(op, release, says):
    changes = {change.release: change.changes for change in op_history(atlas(), op).stock.changes}
    assert says in changes[release]


@pytest.mark.parametrize(("op", "device", "kind", "releases"), KERNELS)
def test_kernels_by_device_and_type_over_time(op, device, kind, releases):
    lines = op_history(atlas(), op).stock.kernels
    matches = [line for line in lines if line.device == device and (kind in line.types or not line.types)]
    spans = {", ".join(map(str, line.releases)) for line in matches}
    if releases is None:  # the op is still registered, its kernels went before 2.16
        assert not any(line.releases[-1].open for line in matches)
    else:
        assert spans == {releases}


def test_kernels_are_listed_by_the_most_distinctive_type():
    assert op_history(atlas(), "RandomUniform").type_attr == "dtype"
    assert op_history(atlas(), "FusedBatchNormV3").type_attr == "T"
    assert op_history(atlas(), "NoOp").type_attr is None


def test_a_contrib_op_names_its_library():
    (provision, *_) = op_history(atlas(), "Resampler").provisions
    assert provision.library == "contrib/resampler/python/ops/_resampler_ops.so"
    assert provision.releases[-1].last == "1.15.5"
    assert op_history(atlas(), "Resampler").since is None


def test_an_op_that_moved_from_contrib_has_both():
    libraries = [p.library for p in op_history(atlas(), "CudnnRNN").provisions if p.package == "tensorflow"]
    assert libraries[:2] == ["", "contrib/cudnn_rnn/python/ops/_cudnn_rnn_ops.so"]


def test_a_gpu_build_is_listed_only_if_it_has_more():
    history = op_history(atlas(), "BatchMatMulV2")
    more = [p for p in history.provisions if p.package in ("tensorflow-cpu", "tensorflow-gpu")]
    assert {line.device for p in more for line in p.kernels} <= {"GPU", "XLA_GPU", "XLA_GPU_JIT"}
    assert not any(span.open for p in more for line in p.kernels for span in line.releases)


def test_releases_whose_kernels_are_not_recorded_are_named():
    history = op_history(atlas(), "MatMul")
    first_releases = {span.first for line in history.stock.kernels for span in line.releases}
    assert not first_releases & {span.first for span in history.kernels_missing}


def test_later_ops_have_a_higher_number():
    assert later_ops(atlas(), "BatchMatMul") == {"BatchMatMulV2": "1.14.0", "BatchMatMulV3": "2.6.0"}
    assert later_ops(atlas(), "BatchMatMulV2") == {"BatchMatMulV3": "2.6.0"}
    assert later_ops(atlas(), "BatchMatMulV3") == {}


def test_an_unknown_op_has_no_history_but_suggestions():
    assert op_history(atlas(), "batchmatmulv2") is None
    assert suggestions(atlas(), "batchmatmulv2")[0] == "BatchMatMulV2"
    assert "FusedBatchNormV3" in suggestions(atlas(), "FusedBatchNormalV3")
    assert suggestions(atlas(), "Zzzzzzzzzzzz") == []


def test_a_search_accepts_substrings_and_patterns_in_any_case():
    assert "FusedBatchNormV3" in {op.name for op in search_ops(atlas(), "batchnorm")}
    assert [op.name for op in search_ops(atlas(), "batchmatmul?2")] == ["BatchMatMulV2"]
    assert search_ops(atlas(), "[") == []


def test_every_op_has_a_history_and_every_change_a_text():
    recorded = atlas()
    for name in recorded.op_names():
        history = op_history(recorded, name)
        assert history.provisions, name
        for provision in history.provisions:
            assert provision.releases or provision.kernels, name
            assert all(change.changes for change in provision.changes), name


def test_every_kind_of_change_of_a_definition_has_a_text():
    before = OpDef(name="A", is_commutative=True)
    before.input_arg.add(name="x", type=DT_FLOAT)
    before.attr.add(name="n", type="int", has_minimum=True, minimum=1).default_value.i = 2
    after = OpDef(name="A", is_stateful=True)
    after.input_arg.add(name="x", type=DT_FLOAT, is_ref=True)
    after.input_arg.add(name="y", type_attr="T")
    after.attr.add(name="n", type="int")
    after.deprecation.version, after.deprecation.explanation = 9, "use B"
    assert definition_changes(before, after) == [
        "input y: T added",
        "input x is Ref(float32), was float32",
        "attribute n no longer has a default",
        "attribute n is any number, was at least 1",
        "is stateful",
        "is no longer commutative",
        "deprecated since GraphDef version 9: use B",
    ]
    assert definition_changes(after, after) == []


def test_a_definition_in_the_notation_of_the_sources():
    split = op_history(atlas(), "Split").definition
    assert register_op(split) == [
        'REGISTER_OP("Split")',
        '    .Input("split_dim: int32")',
        '    .Input("value: T")',
        '    .Output("output: num_split * T")',
        '    .Attr("num_split: int >= 1")',
        '    .Attr("T: type")',
    ]


def test_spans_of_consecutive_releases():
    builds = atlas().builds("tensorflow")[-5:]
    numbers = [build.number for build in builds]
    first, second = spans(builds, {*numbers[:2], *numbers[3:]})
    assert first == Span(builds[0].version, builds[1].version, open=False)
    assert str(second) == f"since {builds[3].version}"
    assert spans(builds, ()) == ()
