"""Log probabilities that a release does not normalize are reported."""

import pytest
from tests.fix.structure.ctc_programs import DECODER, FETCHES, LOG_PROBABILITY
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

CODE = "TFP311"
MODEL = graph_to_def(graph(DECODER)).SerializeToString()


def reported(target, fetches=(LOG_PROBABILITY,), model=MODEL):
    report = tfport.check(model, on=target, fetches=fetches)
    return report.verdict, [(f.code, f.severity, f.stage) for f in report.findings if f.code == CODE]


@pytest.mark.parametrize("release", ["1.0.1", "1.4.1", "1.10.1"])
def test_old_releases_answer_with_other_numbers(release):
    assert reported(f"tensorflow=={release}") == ("runs", [(CODE, "warning", "run")])


@pytest.mark.parametrize(
    "target", ["tensorflow==1.11.0", "tensorflow==1.15.5", "tensorflow==2.21.0", "tfport"]
)
def test_later_releases_normalize(target):
    assert reported(target) == ("runs", [])


def test_decoded_paths_are_the_same_in_every_release():
    assert reported("tensorflow==1.4.1", FETCHES[:-1]) == ("runs", [])


def test_a_corrected_graph_is_not_reported():
    model = tfport.fix(MODEL, target="tensorflow==1.4.1", fetches=FETCHES).model
    assert reported("tensorflow==1.4.1", model=model) == ("runs", [])


def test_a_log_probability_that_is_read_elsewhere_too_is_reported():
    model = tfport.fix(MODEL, target="tensorflow==1.4.1", fetches=FETCHES).model
    (decoder,) = {node.inputs[0].node for node in model.graph if node.op == "IdentityN"}
    model.graph.add("Neg", [decoder.outputs[-1]], {"T": decoder.outputs[-1].dtype}, name="y")
    verdict, findings = reported("tensorflow==1.4.1", ["y:0"], model)
    assert (verdict, [code for code, _, _ in findings]) == ("runs", [CODE])


BROKEN = """
x = Placeholder() {dtype=float32, shape=(?, ?, 5)}
d = CTCBeamSearchDecoder(x) {beam_width=8, top_paths=-5}
y = Sub(d:9) {T=float32}
"""


def test_a_broken_decoder_does_not_stop_a_check():
    model = graph_to_def(graph(BROKEN)).SerializeToString()
    assert reported("tensorflow==1.4.1", ["y:0"], model)[0] == "fails"
