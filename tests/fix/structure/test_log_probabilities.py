"""Log probabilities of decoded paths are normalized on releases that do not do it."""

import numpy as np
import pytest
from tests.fix.structure.ctc_programs import (
    DECODER,
    FETCHES,
    LENGTHS,
    LOG_PROBABILITY,
    LOGITS,
    SINCE_1_11,
    UNTIL_1_10,
)
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

OLD = "tensorflow==1.4.1"
FEEDS = {"x:0": LOGITS, "lengths:0": LENGTHS}
NORMALIZED = "normalized log probabilities"


def content(text=DECODER):
    return graph_to_def(graph(text)).SerializeToString()


def fixed(model, target=OLD, fetches=FETCHES):
    return tfport.fix(model, target=target, fetches=fetches)


def changes(result):
    return [entry.name for entry in result.journal.entries]


def probed(model):
    """The tensor that says whether the release that runs the graph does not normalize."""
    (name,) = (node.name for node in model.graph if node.op == "Greater")
    return f"{name}:0"


def test_a_release_that_normalizes_answers_the_same():
    result = fixed(content())
    assert changes(result) == [NORMALIZED]
    before, after = (tfport.Session(model).run(FETCHES, FEEDS) for model in (content(), result.model))
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    np.testing.assert_allclose(after[-1], SINCE_1_11, rtol=1e-5)


def test_what_an_old_release_adds_is_subtracted():
    model = fixed(content()).model
    session, probe = tfport.Session(model), probed(model)
    assert not session.run([probe])[0].any()
    missing = SINCE_1_11 - session.run([LOG_PROBABILITY], {**FEEDS, probe: np.array([[True]])})[0]
    np.testing.assert_allclose(UNTIL_1_10 - missing, SINCE_1_11, rtol=1e-5)


@pytest.mark.parametrize("lengths", [[0, 0, 0], [6, 6, 6], [1, 0, 5]])
def test_only_the_steps_of_a_sequence_count(lengths):
    model = fixed(content()).model
    session, feeds = tfport.Session(model), {"x:0": LOGITS, "lengths:0": np.int32(lengths)}
    subtracted = model.graph["d"].inputs[-1].node.inputs[1].name
    actual = session.run([subtracted], {**feeds, probed(model): np.array([[True]])})[0]
    shifted = LOGITS - LOGITS.max(2, keepdims=True)
    steps = np.log(np.exp(shifted).sum(2)) * (np.arange(6)[:, None] < lengths)
    np.testing.assert_allclose(actual, steps.sum(0)[:, None], rtol=1e-5)


def test_nan_in_a_step_stays_in_its_sequence():
    logits = LOGITS.copy()
    logits[5, 2] = np.nan  # behind the end of the last sequence
    answer = tfport.Session(fixed(content()).model).run([LOG_PROBABILITY], {**FEEDS, "x:0": logits})[0]
    np.testing.assert_allclose(answer, SINCE_1_11, rtol=1e-5)


@pytest.mark.parametrize(("release", "is_changed"), [("1.10.1", True), ("1.11.0", False), ("1.15.5", False)])
def test_only_releases_until_1_10_need_it(release, is_changed):
    result = fixed(content(), f"tensorflow=={release}")
    assert (NORMALIZED in changes(result)) is is_changed


def test_a_corrected_graph_is_not_corrected_again():
    again = fixed(fixed(content()).model)
    assert changes(again) == []


def test_decoded_paths_alone_need_no_correction():
    assert changes(fixed(content(), fetches=FETCHES[:-1])) == []


def test_a_reader_gets_the_corrected_number():
    result = fixed(content(DECODER + "y = Neg(d:6) {T=float32}"), fetches=["y:0"])
    assert changes(result) == [NORMALIZED]
    assert result.model.graph["y"].inputs[0].node.op == "Sub"
    assert "IdentityN" not in {node.op for node in result.model.graph}


IN_LOOP = """
n = Const() {{dtype=int32, value=int32()[2]}}
zero = Const() {{dtype=int32, value=int32()[0]}}
x = Placeholder() {{dtype=float32, shape=(?, ?, 5)}}
lengths = Placeholder() {{dtype=int32, shape=(?,)}}
sum = Const() {{dtype=float32, value=float32()[0.0]}}
enter = Enter(zero) {{T=int32, {frame}, is_constant=false}}
enter_sum = Enter(sum) {{T=float32, {frame}, is_constant=false}}
enter_n = Enter(n) {{T=int32, {frame}, is_constant=true}}
enter_x = Enter(x) {{T=float32, {frame}, is_constant=true}}
enter_lengths = Enter(lengths) {{T=int32, {frame}, is_constant=true}}
merge = Merge(enter, next) {{N=2, T=int32}}
merge_sum = Merge(enter_sum, next_sum) {{N=2, T=float32}}
less = Less(merge, enter_n) {{T=int32}}
cond = LoopCond(less)
switch = Switch(merge, cond) {{T=int32}}
switch_sum = Switch(merge_sum, cond) {{T=float32}}
i = Identity(switch:1) {{T=int32}}
step = Const(^i) {{dtype=int32, value=int32()[1]}}
more = Add(i, step) {{T=int32}}
d = CTCBeamSearchDecoder(enter_x, enter_lengths) {{beam_width=8, top_paths=2, merge_repeated=false}}
axes = Const(^i) {{dtype=int32, value=int32(2,)[0, 1]}}
total = Sum(d:6, axes) {{T=float32, Tidx=int32, keep_dims=false}}
added = Add(switch_sum:1, total) {{T=float32}}
next = NextIteration(more) {{T=int32}}
next_sum = NextIteration(added) {{T=float32}}
y = Exit(switch_sum) {{T=float32}}
"""


def test_a_decoder_in_a_loop_is_corrected_there():
    model = content(IN_LOOP.format(frame='frame_name="w", parallel_iterations=1'))
    result = fixed(model, fetches=["y:0"])
    assert changes(result) == [NORMALIZED]
    answer = tfport.Session(result.model).run(["y:0"], FEEDS)[0]
    np.testing.assert_allclose(answer, 2 * SINCE_1_11.sum(), rtol=1e-5)
