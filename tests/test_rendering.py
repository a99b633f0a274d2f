"""Results find their renderers."""

from __future__ import annotations

import pytest

from tfport.discovery import Catalog
from tfport.rendering import JSON, PLAIN, RENDERERS, RenderedResult, json_of, rendered, renderer_of


@pytest.fixture
def entries(monkeypatch):
    monkeypatch.setattr(RENDERERS, "entries", {})


class Sum(RenderedResult):
    def __init__(self, *numbers):
        self.numbers = numbers


class RoundedSum(Sum):
    pass


def test_a_result_is_rendered_by_what_its_class_declares(entries):
    json_of(Sum)(lambda result: {"sum": sum(result.numbers)})
    renderer_of(Sum, PLAIN)(lambda result: " + ".join(map(str, result.numbers)))
    assert Sum(1, 2).to_json() == {"sum": 3}
    assert str(Sum(1, 2)) == "1 + 2"


def test_a_derived_result_has_the_renderers_of_its_base_and_its_own(entries):
    json_of(Sum)(lambda result: {"sum": sum(result.numbers)})
    renderer_of(Sum, PLAIN)(lambda result: "sum")
    json_of(RoundedSum)(lambda result: {"sum": round(sum(result.numbers))})
    assert RoundedSum(1.2, 2.1).to_json() == {"sum": 3}
    assert str(RoundedSum(1.2)) == "sum"


def test_options_reach_the_renderer(entries):
    renderer_of(Sum, "words")(lambda result, word, *, times: [word] * times)
    assert rendered(Sum(), "words", "a", times=2) == ["a", "a"]


def test_a_missing_renderer_is_named(entries):
    with pytest.raises(TypeError, match=r"no json of Sum is declared; run `make index`"):
        rendered(Sum(), JSON)


def test_each_form_of_a_class_is_declared_once():
    assert {name: len(renderers) for name, renderers in RENDERERS.all().items() if len(renderers) > 1} == {}
    assert Catalog.every["renderers"] is RENDERERS
