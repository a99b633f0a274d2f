"""Arrays of strings in NumPy's pickles: read without unpickling, and anything else refused."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.errors import UnreadableFile
from tfport.formats.encoding.pickled_strings import read_pickled_strings

TEXTS = st.lists(st.one_of(st.text(), st.binary()), max_size=6)
PROTOCOLS = (3, 4, 5)
CALLED: list[str] = []


class Calls:
    """An object whose pickle calls a function."""

    def __reduce__(self):
        return CALLED.append, ("called",)


def array(elements, shape=(-1,), order="C"):
    flat = np.empty(len(elements), object)
    flat[:] = elements
    return np.asarray(flat.reshape(shape), order=order)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(texts=TEXTS)
def test_strings_are_read_as_numpy_wrote_them(protocol, texts):
    strings = read_pickled_strings(pickle.dumps(array(texts), protocol), "x.npy")
    assert strings.tolist() == [t.encode() if isinstance(t, str) else t for t in texts]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 6, 1)])
def test_shapes_and_orders_are_kept(protocol, order, shape):
    words = array(["a", "b", "a", "c", "d", "e"], shape, order)
    strings = read_pickled_strings(pickle.dumps(words, protocol), "x.npy")
    assert strings.shape == shape
    assert [s.decode() for s in strings.ravel()] == words.ravel().tolist()


def test_a_single_string():
    assert read_pickled_strings(pickle.dumps(np.array("s", object)), "x.npy")[()] == b"s"


REFUSED = [  # what, object, reason
    ("numbers", array([1, 2]), "an element of type int"),
    ("nothing", array([None]), "an element of type NoneType"),
    ("a list", array([["a"]]), "an element of type list"),
    ("no array", ["a", "b"], "not an array"),
    ("a set", {"a"}, "opcode EMPTY_SET"),
    ("a class", Calls, "it names tests.formats.encoding.test_pickled_strings.Calls"),
    ("a call", Calls(), "it names builtins.getattr"),
    ("a call in an array", array([Calls()]), "it names builtins.getattr"),
]


@pytest.mark.parametrize(("content", "reason"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_anything_else_is_refused_and_nothing_is_called(content, reason):
    with pytest.raises(UnreadableFile, match="tfport does not unpickle") as refusal:
        read_pickled_strings(pickle.dumps(content), "x.npy")
    assert f"({reason})" in str(refusal.value)
    assert CALLED == []


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_with_a_sentence(data):
    with pytest.raises(UnreadableFile):
        read_pickled_strings(data, "x.npy")


@given(st.data())
def test_changed_pickles_are_read_or_refused(data):
    raw = bytearray(pickle.dumps(array(["a", "b", "c"], (3, 1))))
    for _ in range(3):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableFile):
        assert read_pickled_strings(bytes(raw), "x.npy").dtype == object
