"""The outputs that the user fetches, or a guess, with the inputs that they need."""

import pytest
from tests.recorded_models import graph, load

import tfport
from tfport.graph.build import graph_to_def
from tfport.graph.graph_outputs import graph_outputs

TEXT = """
    x = Placeholder() {dtype=float32, shape=(2,)}
    other = Placeholder() {dtype=float32, shape=(2,)}
    y = Neg(x) {T=float32}
    z = Add(y, other) {T=float32}
    end = Unique(z) {T=float32}
"""


def model():
    return tfport.load(graph_to_def(graph(TEXT)).SerializeToString())


def test_outputs_are_guessed_with_the_placeholders_they_need():
    outputs = graph_outputs(model())
    assert (outputs.fetches, outputs.feeds, outputs.guessed) == (["end:0", "end:1"], ["x:0", "other:0"], True)
    assert (outputs.needed, outputs.unneeded) == (5, 0)


def test_fetched_outputs_need_only_their_inputs():
    outputs = graph_outputs(model(), ["y"])
    assert (outputs.fetches, outputs.feeds, outputs.guessed) == (["y:0"], ["x:0"], False)
    assert (outputs.needed, outputs.unneeded) == (2, 3)
    assert set(outputs.signature.outputs) == {"y"}


def test_what_computes_a_fed_tensor_is_not_needed():
    outputs = graph_outputs(model(), ["end:1"], ["y:0"])
    assert outputs.feeds == ["other:0", "y:0"]
    assert outputs.needed == 3


def test_a_model_with_signatures_is_not_guessed():
    assert graph_outputs(load("module")) is None
    assert graph_outputs(load("module"), ["saver_filename:0"]).feeds == ["saver_filename:0"]


@pytest.mark.parametrize(
    ("fetches", "feeds", "ending"),
    [
        (["z/Y"], [], "there is no tensor `z/Y` to fetch; similar: y"),
        (["nothing:0"], [], "there is no tensor `nothing:0` to fetch; `tfport inspect` shows the outputs"),
        (["end:7"], [], "there is no tensor `end:7` to fetch; Unique `end` has 2 outputs"),
        (["z"], ["w"], "there is no tensor `w` to feed; `tfport inspect` shows the outputs"),
    ],
)
def test_an_unknown_tensor_is_one_sentence(fetches, feeds, ending):
    with pytest.raises(tfport.Error) as raised:
        graph_outputs(model(), fetches, feeds)
    assert str(raised.value).endswith(ending)


def test_feeds_alone_ask_nothing_of_a_model_with_signatures():
    with pytest.raises(tfport.Error, match="`x` is fed, but nothing is fetched"):
        graph_outputs(load("module"), [], ["x"])


@pytest.mark.parametrize(("producer", "dims"), [(21, None), (22, ())])
def test_an_old_placeholder_without_sizes_has_any_shape(producer, dims):
    definition = graph_to_def(graph("x = Placeholder() {dtype=float32, shape=()}\ny = Neg(x) {T=float32}"))
    definition.versions.producer = producer
    outputs = graph_outputs(tfport.load(definition.SerializeToString()))
    assert outputs.signature.inputs["x"].shape.dims == dims
