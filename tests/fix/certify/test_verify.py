"""Verification of small models: equal, different, failing and random ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.fix.certify.models import frozen, saved
from tests.recorded_models import load, path_of

import tfport
from tfport.errors import Error
from tfport.fix.certify import trial_plan
from tfport.fix.certify import verify as verify_module
from tfport.fix.certify.provenance import RunnerFacts
from tfport.fix.certify.verification import ALIKE, DIFFERS, NOT_COMPARED, AnswerComparison
from tfport.fix.certify.verify import verify
from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.encoding.tfrecord import record
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_pb2 as serving
from tfport.formats.saved_model.warmup import WARMUP

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWICE = X + "two = Const() {dtype=float32, value=float32()[2]}\ny = Mul(x, two) {T=float32}"
PAIRS = [  # what, before, after, verdict, what the statement says
    ("the same", TWICE, TWICE, ALIKE, "outputs agree on 14 inputs, compared in tfport's runtime"),
    ("another way", TWICE, X + "y = AddV2(x, x) {T=float32}", ALIKE, "outputs agree on 14 inputs"),
    ("a wrong factor", TWICE, TWICE.replace("[2]", "[2.1]"), DIFFERS, "y of graph on tfport"),
    ("another type", X + "y = Cast(x) {SrcT=float32, DstT=float64}", TWICE, DIFFERS,
     "it is float32; expected float64"),
    ("another shape", TWICE, TWICE.replace("y =", "m =") + """
        axis = Const() {dtype=int32, value=int32()[0]}
        y = ExpandDims(m, axis) {T=float32, Tdim=int32}""", DIFFERS, "its shape is"),
    ("an edge only", X + "y = Relu(x) {T=float32}", X + """
        six = Const() {dtype=float32, value=float32()[500000]}
        r = Relu(x) {T=float32}
        y = Minimum(r, six) {T=float32}""", DIFFERS, "y of graph"),
    ("only the rewritten one refuses", TWICE, TWICE.replace("y =", "m =") + """
        y = CheckNumerics(m) {T=float32, message="no"}""", DIFFERS, "refuses `not finite"),
    ("only the original refuses", TWICE.replace("y =", "m =") + """
        y = CheckNumerics(m) {T=float32, message="no"}""", TWICE, ALIKE, "outputs agree on 13 inputs"),
    ("both refuse all", X + 'y = CheckNumerics(z) {T=float32, message="no"}\nz = Log(m) {T=float32}\n'
     "m = Sub(x, w) {T=float32}\nw = Const() {dtype=float32, value=float32()[inf]}", TWICE, NOT_COMPARED,
     "not compared: graph"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "verdict", "says"), [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS]
)
def test_what_comes_of_comparing(before, after, verdict, says):
    verification = verify(frozen(before), frozen(after), fetches=["y"])
    assert verification.verdict == verdict
    assert says in verification.statement


def test_a_statement_never_claims_more_than_was_seen():
    verification = verify(frozen(TWICE), frozen(TWICE))
    assert "equal" not in verification.statement
    assert "prove" not in verification.statement


def test_outputs_where_the_original_failed_are_reported():
    checked = TWICE.replace("y =", "m =") + '\ny = CheckNumerics(m) {T=float32, message="no"}'
    verification = verify(frozen(checked), frozen(TWICE), fetches=["y"])
    assert [comparison.only_rewritten_answers for comparison in verification.comparisons] == [
        ["not finite, 2 rows, open sizes 4"]
    ]
    assert any("that the original refuses" in caveat for caveat in verification.caveats)


def test_a_difference_on_nan_is_reported_and_does_not_decide():
    # Relu keeps NaN; the larger of it and a number by comparison does not
    other = (
        X
        + """
        zero = Const() {dtype=float32, value=float32()[0]}
        likes = ZerosLike(x) {T=float32}
        g = Greater(x, zero) {T=float32}
        y = SelectV2(g, x, likes) {T=float32}"""
    )
    verification = verify(frozen(X + "y = Relu(x) {T=float32}"), frozen(other), fetches=["y"])
    (comparison,) = verification.comparisons
    assert comparison.outputs["y"].alike
    if not comparison.not_finite["y"].alike:
        assert any("NaN" in caveat for caveat in verification.caveats)
    assert verification.verdict == ALIKE


def test_a_random_output_is_not_compared():
    text = (
        X
        + """
        s = Shape(x) {T=float32, out_type=int32}
        r = RandomUniform(s) {T=int32, dtype=float32}
        y = Neg(x) {T=float32}"""
    )
    verification = verify(frozen(text), frozen(text), fetches=["y", "r"])
    (comparison,) = verification.comparisons
    assert comparison.random == ["r"]
    assert verification.verdict == ALIKE
    alone = verify(frozen(text), frozen(text), fetches=["r"])
    assert alone.verdict == NOT_COMPARED


def test_a_target_that_answers_no_input_proves_nothing():
    model = frozen(X + "y = Relu(x) {T=float32}")
    verification = verify(model, model, fetches=["y"])
    assert verification.verdict == ALIKE
    facts = RunnerFacts("tensorflow", "1.12.3", is_target=True)
    verification.runners_used.append(facts)
    (signature,) = verification.signatures
    verification.comparisons.append(AnswerComparison(signature, facts.name, "tfport", refused=3))
    assert verification.verdict == NOT_COMPARED
    assert verification.statement.startswith(f"not compared in {facts.name}: {signature}")


KEEP_PROB = """
    keep = Placeholder() {dtype=float32, shape=(...)}
    u = Add(m, zero) {T=float32}
    a = Add(keep, u) {T=float32}
    f = Floor(a) {T=float32}
    i = Inv(keep) {T=float32}
    d = Mul(x, i) {T=float32}
    y = Mul(d, f) {T=float32}"""
RATE = """
    rate = Placeholder() {dtype=float32, shape=()}
    g = GreaterEqual(m, rate) {T=float32}
    f = Cast(g) {SrcT=bool, DstT=float32}
    k = Sub(one, rate) {T=float32}
    d = RealDiv(x, k) {T=float32}
    y = Mul(d, f) {T=float32}"""


@pytest.mark.parametrize("dropout", [KEEP_PROB, RATE])
def test_dropout_is_off_so_that_its_output_can_be_compared(dropout):
    text = (
        X
        + """
        s = Shape(x) {T=float32, out_type=int32}
        zero = Const() {dtype=float32, value=float32()[0]}
        one = Const() {dtype=float32, value=float32()[1]}
        r = RandomUniform(s) {T=int32, dtype=float32}
        m = Mul(r, one) {T=float32}"""
        + dropout
    )
    verification = verify(frozen(text), frozen(text), fetches=["y"])
    (comparison,) = verification.comparisons
    assert (verification.verdict, comparison.random) == (ALIKE, [])


def test_what_chooses_a_branch_with_random_numbers_is_false():
    text = (
        X
        + """
        training = Placeholder() {dtype=bool, shape=(...)}
        c = Switch(training, training) {T=bool}
        t = Identity(c:1) {T=bool}
        sizes = Const(^t) {dtype=int32, value=int32(1,)[3]}
        r = RandomUniform(sizes) {T=int32, dtype=float32}
        s = Switch(x, training) {T=float32}
        d = Mul(s:1, r) {T=float32}
        y = Merge(s:0, d) {T=float32, N=2}"""
    )
    verification = verify(frozen(text), frozen(text), fetches=["y:0"])
    (comparison,) = verification.comparisons
    assert (verification.verdict, comparison.random) == (ALIKE, [])


def test_an_unknown_op_is_not_compared():
    text = X + "y = Acme>Unknown(x)"
    verification = verify(frozen(text), frozen(text), fetches=["y"])
    assert verification.verdict == NOT_COMPARED
    assert "Acme>Unknown" in verification.statement


def test_tolerances_are_the_callers():
    near = TWICE.replace("[2]", "[2.01]")
    assert verify(frozen(TWICE), frozen(near)).verdict == DIFFERS
    assert verify(frozen(TWICE), frozen(near), rtol=0.02).verdict == ALIKE
    assert (
        verify(frozen(TWICE), frozen(TWICE.replace("[2]", "[2.00001]")), rtol=0.0, atol=0.0).verdict
        == DIFFERS
    )


HALF = (
    X
    + """
    h = Cast(x) {SrcT=float32, DstT=float16}
    w = Const() {dtype=float16, value=float16(3,1)[0.1, 0.2, 0.3]}
    d = MatMul(h, w) {T=float16}
    y = Cast(d) {SrcT=float16, DstT=float32}"""
)
SINGLE = (
    X
    + """
    w = Const() {dtype=float16, value=float16(3,1)[0.1, 0.2, 0.3]}
    v = Cast(w) {SrcT=float16, DstT=float32}
    y = MatMul(x, v) {T=float32}"""
)


def test_half_inside_is_judged_as_half():
    verification = verify(frozen(HALF), frozen(SINGLE), fetches=["y"])
    assert verification.verdict == ALIKE
    (comparison,) = verification.comparisons
    difference = comparison.outputs["y"]
    assert (difference.dtype, difference.judged_as, difference.rtol) == ("float32", "float16", 2e-2)
    assert difference.absolute > 0
    judged = "graph: `y` is judged as float16 (rtol 0.02, atol 0.004 of the largest number), "
    judged += "because `d` computes"
    assert any(caveat.startswith(judged) for caveat in verification.caveats)


def test_weights_that_are_stored_in_half_are_judged_as_float32():
    verification = verify(frozen(SINGLE), frozen(HALF), fetches=["y"])
    assert verification.verdict == DIFFERS
    assert verification.comparisons[0].outputs["y"].judged_as == "float32"


def test_the_trial_that_differs_most_is_named_with_its_inputs():
    verification = verify(frozen(TWICE), frozen(TWICE.replace("[2]", "[2.1]")), fetches=["y"])
    failed = verification.failed
    assert failed.trial.name in verification.statement
    title, element, inputs = failed.lines()
    assert title.startswith(f"graph, inputs `{failed.trial.name}`, on tfport")
    assert element.startswith("output `y`: element [")
    assert inputs.startswith("input `x`: float32 [")
    worst = failed.difference.worst
    x = failed.trial.inputs["x"][worst.index]
    assert float(worst.expected) == pytest.approx(2 * x, rel=1e-6)
    assert float(worst.answer) == pytest.approx(2.1 * x, rel=1e-6)


def test_inputs_that_only_the_rewritten_model_refuses_are_named():
    checked = TWICE.replace("y =", "m =") + '\ny = CheckNumerics(m) {T=float32, message="no"}'
    failed = verify(frozen(TWICE), frozen(checked), fetches=["y"]).failed
    assert failed.answer is None
    assert [line for line in failed.lines() if line.startswith("the rewritten model refuses them: ")]


def test_every_signature_is_compared_unless_some_are_named():
    model = load("estimator")
    verification = verify(model, load("estimator"))
    assert verification.signatures == ["predict", "regression", "serving_default"]
    assert verification.verdict == ALIKE
    assert verify(model, load("estimator"), signatures=["predict"]).signatures == ["predict"]
    with pytest.raises(Error, match="no signature `none`"):
        verify(model, load("estimator"), signatures=["none"])


def test_a_signature_without_outputs_is_left_out_and_reported():
    verification = verify(load("regressor"), load("regressor"))
    assert "empty" in load("regressor").signatures
    assert "empty" not in verification.signatures
    assert verification.verdict == ALIKE
    assert "skipped: `empty`, which has no outputs" in verification.caveats


def test_an_activation_that_is_lost_is_seen():
    changed = load("keras_sequential")
    for function in changed.graph.library.functions.values():
        for node in function:
            if node.op == "Relu":
                node.become("Identity", {"T": node.attrs["T"]})
    verification = verify(load("keras_sequential"), changed)
    assert verification.verdict == DIFFERS
    assert "beyond the tolerance" in verification.statement


def test_warm_up_requests_are_tried_first_and_user_inputs_alone(tmp_path):
    saved(tmp_path / "m", TWICE, {"x": "x:0"}, {"y": "y:0"})
    log = serving.PredictionLog()
    array = from_numpy(np.float32([[1, 2, 3]]), graph_pb2.DT_FLOAT)
    log.predict_log.request.inputs["x"].CopyFrom(array)
    (tmp_path / "m" / WARMUP).parent.mkdir()
    (tmp_path / "m" / WARMUP).write_bytes(record(log.SerializeToString()))
    model = tfport.load(tmp_path / "m")
    verification = verify(model, tfport.load(tmp_path / "m"))
    assert [trial.origin for trial in verification.trials[:2]] == ["warm-up", "generated"]
    two = [{"x": np.float32([[4, 5, 6]])}, {"x": np.float32([[7, 8, 9]])}]
    verification = verify(model, tfport.load(tmp_path / "m"), inputs=two)
    assert [trial.origin for trial in verification.trials] == ["given", "given"]
    assert verification.statement == "outputs agree on 2 inputs, compared in tfport's runtime"


def test_a_signature_that_the_user_inputs_do_not_fit_is_tried_on_generated_ones():
    model = load("estimator")
    examples = np.array([b""], object)
    verification = verify(model, load("estimator"), inputs={"examples": examples})
    origins = {trial.signature: trial.origin for trial in verification.trials}
    assert origins == {"predict": "given", "regression": "generated", "serving_default": "generated"}
    assert "skipped: the user's inputs for regression, which takes inputs" in verification.caveats


def test_given_inputs_that_no_signature_takes_are_an_error():
    with pytest.raises(Error, match="the inputs z match no signature; graph takes x"):
        verify(frozen(TWICE), frozen(TWICE), inputs={"z": np.float32([1])})


def test_user_inputs_that_the_original_rejects_are_reported():
    verification = verify(frozen(TWICE), frozen(TWICE), inputs={"x": np.float64([[1, 2, 3]])})
    message = "the original refuses the user's inputs: `x:0` must be float32"
    assert any(message in caveat for caveat in verification.caveats)
    assert message in verification.statement
    assert verification.verdict == NOT_COMPARED


def test_a_damaged_warm_up_file_is_only_reported(tmp_path):
    saved(tmp_path / "m", TWICE, {"x": "x:0"}, {"y": "y:0"})
    (tmp_path / "m" / WARMUP).parent.mkdir()
    (tmp_path / "m" / WARMUP).write_bytes(b"cut")
    verification = verify(tfport.load(tmp_path / "m"), tfport.load(tmp_path / "m"))
    assert verification.verdict == ALIKE
    assert any("the record is truncated" in reason for reason in verification.left_out)


def test_an_image_too_small_for_its_filters_is_made_larger():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?, ?, 1)}
        one = Const() {dtype=float32, value=float32()[1]}
        sizes = Const() {dtype=int32, value=int32(4,)[9, 9, 1, 1]}
        w = Fill(sizes, one) {T=float32, index_type=int32}
        y = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="VALID"}
    """
    verification = verify(frozen(text), frozen(text))
    assert verification.verdict == ALIKE
    assert any("too small for the windows of `y`" in reason for reason in verification.left_out)
    assert verification.comparisons[0].answered >= 3


def test_sizes_that_leave_a_pooling_without_a_window_are_not_tried():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?, ?, 1)}
        p = MaxPool(x) {T=float32, ksize=[1, 5, 5, 1], strides=[1, 2, 2, 1], padding="VALID"}
        axes = Const() {dtype=int32, value=int32(2,)[1, 2]}
        y = Mean(p, axes) {T=float32, Tidx=int32}
    """
    verification = verify(frozen(text), frozen(text))
    assert verification.verdict == ALIKE
    assert not [trial for trial in verification.trials if trial.original == "refused"]
    (skipped,) = (reason for reason in verification.left_out if "too small for the windows of `p`" in reason)
    assert "2 rows, open sizes 4" in skipped
    assert all(difference.largest > 0 for difference in verification.comparisons[0].outputs.values())


def test_trials_that_take_too_long_are_left_out_and_reported(monkeypatch):
    monkeypatch.setattr(trial_plan, "SECONDS", -1.0)
    verification = verify(frozen(TWICE), frozen(TWICE))
    assert verification.verdict == NOT_COMPARED
    assert any("(out of time)" in reason for reason in verification.left_out)


def test_a_model_whose_calls_are_costly_gets_two_sizes_and_other_values_on_the_smaller_one(monkeypatch):
    def sizes():
        verification = verify(frozen(TWICE), frozen(TWICE))
        assert verification.verdict == ALIKE
        trials = [(trial.name, trial.inputs[0].shape) for trial in verification.trials]
        ordinary = [shape for name, shape in trials if name.startswith("ordinary")]
        return ordinary, [s for n, s in trials if not n.startswith("ordinary")], verification.left_out

    usual, others, _ = sizes()
    monkeypatch.setattr(trial_plan, "FEW_SIZES", -1.0)
    few, on_the_smaller, left_out = sizes()
    assert few == [usual[0], (usual[1][0], *usual[-1][1:])]  # every open size differs
    assert len(usual) > 2
    assert set(on_the_smaller) == {min(few, key=math.prod)}
    assert len(on_the_smaller) == len(others)
    assert any("more sizes (a call takes" in reason for reason in left_out)


def test_inputs_that_are_too_large_together_are_left_out_and_reported(monkeypatch):
    monkeypatch.setattr(trial_plan, "MOST_KEPT", 20)
    verification = verify(frozen(TWICE), frozen(TWICE))
    assert verification.verdict == ALIKE
    assert any("(their inputs are too large)" in reason for reason in verification.left_out)
    assert any("`not finite` (the inputs are too large)" in reason for reason in verification.left_out)


def test_ends_of_a_graph_that_answer_nothing_are_left_out():
    text = TWICE + "\nlost = Acme(x)"
    verification = verify(frozen(text), frozen(text))
    assert verification.verdict == ALIKE
    assert verification.left_out == ["`lost`, which the original does not compute"]


def test_progress_is_reported():
    messages: list[str] = []
    verify(frozen(TWICE), frozen(TWICE), progress=messages.append)
    assert "graph: zeros, 2 rows, open sizes 4" in messages


def test_a_saved_model_that_lies_in_a_folder_is_not_copied():
    model = load("keras_sequential")
    sides = verify_module.both_sides(model, load("keras_sequential"), None, ())
    assert sides[0].path == path_of("keras_sequential")
    assert sides[1].path is None


def test_each_model_runs_all_trials_before_the_other():
    """Two plans, each with its own copy of the weights, are not in memory together."""
    steps = []
    verify(frozen(TWICE), frozen(TWICE), progress=steps.append)
    rewritten = [step.endswith(", rewritten") for step in steps if step.startswith("graph: ")]
    assert len(rewritten) > 10
    assert rewritten == sorted(rewritten)
    assert sum(rewritten) * 2 == len(rewritten)
