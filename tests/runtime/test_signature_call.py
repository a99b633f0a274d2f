"""Signatures are called by the names of their inputs."""

import pytest

from tfport.errors import Error
from tfport.graph.dtypes import DType
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.runtime.composite import signature_call


def spec(*tensors, form="dense"):
    return TensorSpec(tensors, DType.parse("float32"), Shape(None), form)


def returning_feeds(fetches, feeds, **options):
    """In place of `Session.run`: each fetch, with what was asked for."""
    return [(fetch, dict(feeds), options) for fetch in fetches]


PLAIN = Signature("s", "m", {"a": spec("x:0"), "b": spec("y:0")}, {"sum": spec("z:0"), "same": spec("z:0")})


def test_inputs_are_fed_in_the_order_of_the_signature():
    answer = signature_call(PLAIN, returning_feeds, on_device=True)(b=2, a=1)
    assert list(answer) == ["sum", "same"]
    fetch, feeds, options = answer["sum"]
    assert (fetch, list(feeds.items()), options) == ("z:0", [("x:0", 1), ("y:0", 2)], {"on_device": True})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": 1}, "`b` is missing"),
        ({"a": 1, "c": 2}, "`c` is not an input; `b` is missing"),
        ({"a": 1, "b": 2, "c": 3}, "`c` is not an input"),
    ],
)
def test_wrong_names_are_an_error(inputs, message):
    with pytest.raises(Error, match=message):
        signature_call(PLAIN, returning_feeds)(**inputs)


def test_the_parts_of_a_composite_tensor_are_several_feeds():
    sparse = Signature("s", "m", {"a": spec("v:0", "i:0", "d:0", form="sparse")}, {"y": spec("y:0")})
    _, feeds, _ = signature_call(sparse, returning_feeds)(a=(1, 2, 3))["y"]
    assert feeds == {"v:0": 1, "i:0": 2, "d:0": 3}
