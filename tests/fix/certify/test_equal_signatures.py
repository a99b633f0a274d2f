"""Signatures with the same graph are compared once, and the certificate says so."""

from __future__ import annotations

import json

import pytest
from tests.recorded_models import load
from tests.static_page.embedded import StaticPage

from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.json import certificate_text
from tfport.fix.certify.model_pair import both_sides, without_repeats
from tfport.fix.certify.verification import ALIKE
from tfport.fix.certify.verify import verify

REPEATS = {  # signatures that compute the same as another, in recorded models
    "keras_functional": {"serve": "serving_default"},
    "keras_lstm": {"serve": "serving_default"},
    "classifier": {"no_method": "serving_default", "other_method": "serving_default"},
    "module": {},
    "half_plus_two": {},
    "counter": {},
}


@pytest.mark.parametrize("name", REPEATS)
def test_signatures_with_the_same_graph_are_found(name):
    model = load(name)
    (before, after), same_as = without_repeats(both_sides(model, model, None, ()))
    assert same_as == REPEATS[name]
    assert set(before.signatures) == set(after.signatures) == set(model.signatures) - set(same_as)


def test_a_rewrite_that_changes_one_of_two_has_both_compared():
    before, after = load("keras_functional"), load("keras_functional")
    wrapper = after.graph[after.signatures["serve"].outputs["score"].tensors[0].partition(":")[0]]
    body = after.graph.library.functions[wrapper.attrs["f"].name]
    body.nodes["StatefulPartitionedCall"].attrs["T"] = None
    assert without_repeats(both_sides(before, before, None, ()))[1]
    assert not without_repeats(both_sides(before, after, None, ()))[1]


def test_the_certificate_says_which_signatures_were_compared_once():
    model = load("keras_functional")
    verification = verify(model, model, live=False)
    assert verification.verdict == ALIKE
    assert {trial.signature for trial in verification.trials} == {"serving_default"}
    certificate = Certificate("m", "", "out", "", "tensorflow==2.8.4", verification)
    assert "serve            the same graph as serving_default, compared once" in str(certificate)
    shown = StaticPage(certificate.page()).documents["certificate"]
    assert shown["same_as"] == {"serve": "serving_default"}
    assert json.loads(certificate_text(certificate))["same_as"] == {"serve": "serving_default"}
