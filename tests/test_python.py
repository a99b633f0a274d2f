"""What Python users see: the names, `help`, `repr`, pages in notebooks, and calls of signatures."""

from __future__ import annotations

import pydoc
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

import tfport
from tfport.rendering import MOST_LINES

ATTENTION = str(Path(__file__).parents[1] / "examples" / "attention")
WORDS = np.array([[b"good", b"bad"]])


def test_dir_is_the_public_api():
    assert dir(tfport) == sorted(tfport.__all__)
    assert all(getattr(tfport, name) is not None for name in tfport.__all__)


def test_help_shows_the_function_of_a_package():
    shown = pydoc.plain(pydoc.render_doc(tfport.check))
    assert "on: str | Sequence[str]," in shown
    assert "Check whether a model loads and runs on targets" in shown


def test_a_report_is_false_if_a_target_refuses_the_model():
    assert tfport.check(ATTENTION, on="tensorflow==1.14.0")
    assert not tfport.check(ATTENTION, on=["tensorflow==1.13.2", "tensorflow==1.14.0"])


def test_findings_targets_and_results_are_sentences():
    report = tfport.check(ATTENTION, on="tensorflow==1.13.2")
    (result,) = report.results
    (finding,) = report.findings
    assert str(finding) == "op `BatchMatMulV2` is not registered in tensorflow 1.13.2"
    assert repr(finding) == f"<TFP101 unregistered-op: {finding}>"
    assert (str(result.target), repr(result.target)) == ("tensorflow 1.13.2", "<Target tensorflow 1.13.2>")
    assert repr(result) == "<tensorflow 1.13.2: fails at load>"


def test_the_repr_of_a_result_is_what_the_command_prints():
    report = tfport.check(ATTENTION, on="tensorflow==1.13.2")
    assert repr(report) == str(report).strip("\n")
    inspection = repr(tfport.inspect(ATTENTION)).splitlines()
    assert len(inspection) <= MOST_LINES
    many = repr(tfport.check(ATTENTION, on="tensorflow<1.14")).splitlines()
    assert len(many) == MOST_LINES
    assert many[-1].endswith("more lines: print(…) shows all")


def test_the_repr_of_a_model_and_a_session_is_a_line():
    model = tfport.load(ATTENTION)
    assert repr(model) == f"<Model {ATTENTION}: SavedModel, serving_default>"
    (signature,) = model.signatures.values()
    assert repr(signature) == "<Signature serving_default(words: string (?, ?)) -> scores: float32 (?, 3)>"
    assert repr(tfport.Session(model)) == f"<Session of {ATTENTION}: serving_default>"
    reviews = "tests/frontends/keras/models/reviews.h5"
    assert repr(tfport.load(reviews)) == f"<Model {reviews}: Keras HDF5 model, serving_default>"


def test_a_notebook_shows_the_page_or_the_text():
    report = tfport.check(ATTENTION, on="tensorflow==1.13.2")
    page = report._repr_html_()
    begin, content, *_ = page.split('"')
    assert begin == "<iframe src="
    assert b64decode(content.removeprefix("data:text/html;base64,")).startswith(b"<!DOCTYPE html>")
    assert 'sandbox="allow-scripts"' in page
    text = tfport.scan(ATTENTION)._repr_html_()
    assert text.startswith("<pre>")
    assert "nothing found" in text


def test_run_takes_inputs_in_order_or_by_name():
    by_name = tfport.run(ATTENTION, words=WORDS)
    in_order = tfport.run(ATTENTION, WORDS)
    assert list(by_name) == ["scores"]
    np.testing.assert_array_equal(in_order["scores"], by_name["scores"])


def test_a_signature_is_a_function_with_a_name_and_a_docstring():
    call = tfport.Session(ATTENTION).signature("serving_default")
    assert call.__name__ == "serving_default"
    assert "words: string (?, ?)" in call.__doc__
    assert "scores: float32 (?, 3)" in call.__doc__
    assert repr(call) == "<Signature serving_default: words: string (?, ?) -> scores: float32 (?, 3)>"
    assert [(name, str(spec)) for name, spec in call.inputs.items()] == [("words", "string (?, ?)")]
    assert list(call.outputs) == ["scores"]


@pytest.mark.parametrize(
    ("values", "inputs", "sentence"),
    [
        ((WORDS, WORDS), {}, "2 inputs of signature serving_default; expected 1: words"),
        ((WORDS,), {"words": WORDS}, "input `words` of signature serving_default was given twice"),
        ((WORDS[0],), {}, r"^input `words` must have shape \(\?, \?\), got \(2,\)$"),
        ((), {"words": [[1]]}, "^input `words` must be string: text or bytes, got the int 1$"),
    ],
)
def test_wrong_inputs_are_a_sentence(values, inputs, sentence):
    with pytest.raises(tfport.Error, match=sentence):
        tfport.run(ATTENTION, *values, **inputs)
