"""Examples written alike are read key by key: what is found is what the reader of every key finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.ops.io.examples import feature, features, field, unpacked

from tfport.errors import RunFailed
from tfport.runtime.ops.io import feature_lists, key_orders
from tfport.runtime.ops.io.feature_columns import FeatureSpec, columns
from tfport.runtime.ops.io.feature_lists import LIST_TAGS, entries, top_level
from tfport.runtime.ops.io.message_batches import FEW, MessageBuffer

KEYS = [b"", b"a", b"b", b"age", b"price", b"category", b"a key longer than a word", b"k" * 130]
WANTED = [b"price", b"a", b"missing", b"a key longer than a word", b""]


def example(pairs):
    """An Example with these keys and the bytes of their Features, in order."""
    features = b"".join(field(1, field(1, key) + field(2, value)) for key, value in pairs)
    return field(1, features)


def read_both(messages, wanted=WANTED):
    key_orders._order_of.cache_clear()
    buffer = MessageBuffer(messages)
    (maps,) = top_level(buffer, 0x0A)
    return key_orders.ordered_entries(buffer, maps, wanted), entries(buffer, maps, wanted)


def assert_same_entries(found, expected):
    assert found[1].tolist() == expected[1].tolist()
    for mine, other in zip(found[0], expected[0], strict=True):
        assert mine.tolist() == other.tolist()


SIZES = st.sampled_from([0, 1, 3, 100, 126, 127, 128, 300, 20_000])
ROWS = st.lists(st.dictionaries(st.sampled_from(KEYS[:-1]), SIZES), min_size=1, max_size=8)


@given(ROWS, st.permutations(KEYS[:-1]))
def test_keys_in_one_order_some_missing(rows, order):
    messages = [example([(key, bytes(row[key])) for key in order if key in row]) for row in rows * (FEW + 1)]
    found, expected = read_both(messages)
    if found is not None:  # orders are given up if too many rows teach new keys
        assert_same_entries(found, expected)


def test_many_examples_alike_are_read_in_one_order():
    pairs = [
        [(key, bytes([i % 7] * (i % 5))) for key in KEYS[:-1] if (i + len(key)) % 11] for i in range(500)
    ]
    found, expected = read_both([example(row) for row in pairs])
    assert found is not None
    assert_same_entries(found, expected)


@pytest.mark.parametrize(
    "odd",
    [
        example([(b"b", b"x"), (b"a", b"x")]),
        example([(b"a", b"x"), (b"a", b"y")]),
        example([(b"a", b"x"), (KEYS[-1], b"x")]),
        field(1, field(1, field(2, b"x") + field(1, b"a"))),
        b"",
    ],
    ids=["another order", "a key twice", "a long key", "value before key", "empty"],
)
def test_others_are_left_to_the_reader_of_every_key(odd):
    usual = example([(b"a", b"x"), (b"b", b"y")])
    found, _ = read_both([usual] * 50 + [odd] + [usual] * 50, [b"a", b"b"])
    assert (found is None) == bool(odd)


def test_malformed_messages_are_left_to_the_reader_that_reports_them():
    usual = example([(b"a", b"x"), (b"b", b"y")])
    for end in range(3, len(usual)):
        cut = field(1, usual[2:end])
        buffer = MessageBuffer([usual] * 40 + [cut] + [usual] * 40)
        (maps,) = top_level(buffer, 0x0A)
        key_orders._order_of.cache_clear()
        found = key_orders.ordered_entries(buffer, maps, [b"a", b"b"])
        try:
            expected = entries(buffer, maps, [b"a", b"b"])
        except feature_lists.MalformedMessage:
            expected = None
        if expected is None:
            assert found is None
        elif found is not None:
            assert_same_entries(found, expected)


def test_fewer_examples_than_a_step_is_worth():
    found, _ = read_both([example([(b"a", b"x")])] * FEW)
    assert found is None


def test_no_wanted_keys():
    found, expected = read_both([example([(b"a", b"x")])] * (FEW + 1), [])
    assert_same_entries(found, expected)
    assert np.array_equal(found[1], [0])


# Values of one string, or of packed numbers, in less than 128 bytes

SPECS = [FeatureSpec(b"n", "int64"), FeatureSpec(b"x", "float32"), FeatureSpec(b"s", "string", True)]
TAGS = [LIST_TAGS[spec.dtype] for spec in SPECS]
ODD = {
    "n": st.sampled_from([[5], [300, -1], [], None, unpacked([7, 8]), [b"text"], b"\x1a\x02\x0a"]),
    "x": st.sampled_from([[1.5], [1.5] * 30, None, unpacked([2.5]), b"\x12\x05\x0a\x03abc", [3]]),
    "s": st.sampled_from([[b"word"], [b""], [b"long" * 40], [b"two", b"of"], None, [1.5]]),
    "other": st.sampled_from([[1], [2.5], [b"text"], [b"long" * 40]]),
}


def column_values(messages):
    buffer = MessageBuffer(messages)
    (maps,) = top_level(buffer, 0x0A)
    try:
        found = columns(buffer, maps, SPECS, range(len(messages)), len(messages))
    except RunFailed as error:
        return str(error)
    return [[each.tolist() for each in column] for column in found]


@given(st.lists(st.fixed_dictionaries({}, optional=ODD), min_size=1, max_size=3), st.integers(0, FEW))
def test_a_guessed_form_changes_nothing(odd, place):
    usual = features(other=[b"a"], n=[5], x=[1.5], s=[b"word"])
    rows = [usual] * (2 * FEW)
    rows[place:place] = [features(**row) for row in odd]
    messages = [field(1, row) for row in rows]
    key_orders._order_of.cache_clear()
    first = column_values(messages)
    key_orders._order_of.cache_clear()
    column_values([field(1, usual)] * (2 * FEW))
    assert column_values(messages) == first == column_values(messages)


def test_short_values_of_a_known_order_are_found():
    rows = [features(other=[i], n=[i], x=[0.5] * (1 + i % 3), s=[b"w" * i]) for i in range(100)]
    rows[50] = features(other=[1], s=[b"only"])
    buffer = MessageBuffer([field(1, row) for row in rows])
    (maps,) = top_level(buffer, 0x0A)
    keys = [spec.key for spec in SPECS]
    key_orders._order_of.cache_clear()
    assert key_orders.short_parts(buffer, maps, keys, TAGS) is None
    key_orders.ordered_entries(buffer, maps, keys)
    spans, bounds = key_orders.short_parts(buffer, maps, keys, TAGS)
    assert bounds.tolist() == [0, 99, 198, 298]
    texts = [buffer.raw[start:end] for start, end in zip(spans.start, spans.end, strict=True)]
    assert texts[198:] == [b"only" if i == 50 else b"w" * i for i in range(100)]
    assert spans.owner[198:].tolist() == list(range(100))


@pytest.mark.parametrize(("size", "is_short"), [(110, True), (111, True), (112, False), (127, False)])
def test_a_size_of_two_bytes_is_not_short(size, is_short):
    key = b"12345678"
    messages = [example([(key, feature([b"x" * size]))])] * 40
    buffer = MessageBuffer(messages)
    (maps,) = top_level(buffer, 0x0A)
    key_orders._order_of.cache_clear()
    key_orders.ordered_entries(buffer, maps, [key])
    assert (key_orders.short_parts(buffer, maps, [key], [0x0A]) is not None) == is_short
