"""Variants for small batches (Examples, fingerprints, unique) give the same results as the others."""

import numpy as np
import pytest
from tests.runtime.ops.io import test_parse_example
from tests.runtime.ops.io.examples import NO_STRINGS, example, feature, serialized

from tfport.errors import RunFailed
from tfport.graph.dtypes import FLOAT32, INT64, STRING
from tfport.graph.shapes import Shape
from tfport.runtime.operand import Operand
from tfport.runtime.ops.array.kernels import unique as ordering
from tfport.runtime.ops.io.kernels.parse_example import parse_example, parse_example_v2
from tfport.runtime.ops.io.parse_small_batches import (
    MAX_EXAMPLES,
    small_batch_variant,
    small_batch_variant_v2,
)
from tfport.runtime.ops.strings.fingerprints import fingerprint64
from tfport.runtime.ops.strings.kernels.hashing import LONGEST, short_fingerprint64

VARIANTS = {
    "ParseExample": (parse_example, small_batch_variant),
    "ParseExampleV2": (parse_example_v2, small_batch_variant_v2),
}
CASES = [case for case in test_parse_example.CASES if case.op in VARIANTS]
ATTR_NAMES = {
    "ParseExample": ("sparse_types", "dense_shapes"),
    "ParseExampleV2": (
        "num_sparse",
        "sparse_types",
        "ragged_value_types",
        "ragged_split_types",
        "dense_shapes",
    ),
}


def operands(values):
    dtype = values[0].dtype if isinstance(values, list) and values else None
    if isinstance(values, list):
        return [Operand(FLOAT32 if dtype == np.float32 else STRING, value=value) for value in values]
    return Operand(STRING, value=values)


def flat(outputs):
    if isinstance(outputs, np.ndarray):
        return [outputs]
    return [array for part in outputs for array in flat(part)]


def variant_and_kernel(op, inputs, attrs):
    """The results of the variant (None if it does not apply) and of the kernel (the error if it fails)."""
    kernel, make_variant = VARIANTS[op]
    attrs = {name: attrs[name] for name in ATTR_NAMES[op]}
    variant = make_variant([operands(values) for values in inputs], attrs)
    got = variant(inputs[0]) if variant is not None else None
    try:
        expected = flat(kernel(*inputs, **attrs))
    except RunFailed as error:
        return got, error
    return got, expected


def same(got, expected):
    assert not isinstance(expected, RunFailed), "only the kernel reports errors"
    assert len(got) == len(expected)
    for array, other in zip(got, expected, strict=True):
        assert (array.dtype, array.shape, array.tolist()) == (other.dtype, other.shape, other.tolist()) or (
            array.dtype.kind == "f" and array.tobytes() == other.tobytes()
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_cases(case):
    got, expected = variant_and_kernel(case.op, case.inputs, case.attrs)
    if got is not None:
        same(got, expected)


def attrs_of(sparse, dense, ragged):
    return {
        "num_sparse": len(sparse),
        "sparse_types": sparse,
        "ragged_value_types": ragged,
        "ragged_split_types": [INT64] * len(ragged),
        "dense_shapes": dense,
    }


ATTRS = attrs_of([STRING, INT64, FLOAT32], [Shape((2,)), Shape(())], [INT64, STRING])
DEFAULTS = [np.array([0.5, 1.5], np.float32), np.empty(0, np.int64)]


def parsed(messages):
    keys = [serialized(b"s", b"i", b"f"), serialized(b"d", b"n"), serialized(b"r", b"t")]
    inputs = [serialized(*messages), np.empty(0, object), *keys, DEFAULTS]
    return variant_and_kernel("ParseExampleV2", inputs, ATTRS)


def message(rng):
    """An Example with features of all kinds, some missing, some empty, numbers large and negative."""
    large = [int(n) for n in rng.integers(-(1 << 62), 1 << 62, 2)]
    made = {
        "s": feature([b"x" * int(n) for n in rng.integers(0, 200, rng.integers(0, 4))] or NO_STRINGS),
        "i": feature([*large, *(int(n) for n in rng.integers(-3, 300, rng.integers(0, 4)))]),
        "f": feature([float(x) for x in rng.normal(size=rng.integers(1, 5))]),
        "d": feature([1.25, -2.5]),
        "other": feature([1]),
        "r": feature([int(n) for n in rng.integers(0, 9, 3)]),
        "t": feature([b"a", b""]),
    }
    kept = {key: value for key, value in made.items() if rng.random() < 0.8}
    return example(**kept, n=feature([int(rng.integers(0, 1 << 40))]))


@pytest.mark.parametrize("rows", [1, 2, 9, MAX_EXAMPLES])
def test_small_batches_use_the_variant(rows):
    rng = np.random.default_rng(rows)
    got, expected = parsed([message(rng) for _ in range(rows)])
    assert got is not None
    same(got, expected)


@pytest.mark.parametrize("number", [0, 127, 128, (1 << 56) - 1, 1 << 56, (1 << 63) - 1, -1, -(1 << 63)])
def test_numbers_of_each_length(number):
    got, expected = parsed(
        [example(n=feature([7]), i=feature(numbers)) for numbers in ([number], [1, number])]
    )
    assert got is not None
    same(got, expected)
    assert number in np.concatenate([array.reshape(-1) for array in got if array.dtype == np.int64])


def field(tag, data):
    return bytes([tag, len(data)]) + data


@pytest.mark.parametrize("numbers", [b"\x80", b"\x80" * 10 + b"\x01"])
def test_a_number_without_end_or_too_long_is_left_to_the_kernel(numbers):
    made = field(0x12, field(0x1A, field(0x0A, numbers)))
    entry = field(0x0A, field(0x0A, field(0x0A, b"i") + made))
    assert parsed([example(n=feature([7])) + entry])[0] is None
    whole = entry.replace(numbers, b"\x01" * len(numbers))
    assert parsed([example(n=feature([7])) + whole])[0] is not None


@pytest.mark.parametrize("rows", [0, MAX_EXAMPLES + 1])
def test_large_and_empty_batches_do_not(rows):
    assert parsed([message(np.random.default_rng(0))] * rows)[0] is None


def test_another_field_is_skipped():
    data = message(np.random.default_rng(1))
    got, expected = parsed([data + b"\x78\x01"])
    assert got is not None
    same(got, expected)


def test_corrupt_examples_give_the_same_result():
    rng = np.random.default_rng(2)
    read = 0
    for _ in range(1500):
        data = bytearray(message(rng))
        for _ in range(int(rng.integers(1, 3))):
            data[int(rng.integers(0, len(data)))] = int(rng.choice([0, 1, 8, 10, 13, 18, 26, 127, 128, 255]))
        cut = len(data) if rng.random() < 0.7 else int(rng.integers(0, len(data)))
        got, expected = parsed([bytes(data[:cut])])
        if got is not None:
            read += 1
            same(got, expected)
    assert read > 50


def test_short_strings_have_the_same_fingerprints():
    rng = np.random.default_rng(3)
    strings = [rng.bytes(n) for n in range(LONGEST + 1) for _ in range(20)]
    assert [short_fingerprint64(string) for string in strings] == fingerprint64(strings).tolist()


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64"])
def test_unique_of_few_integers_is_the_same(kind):
    rng = np.random.default_rng(4)
    for size in (0, 1, 3, 64):
        x = rng.integers(0, 9, size).astype(kind)
        for array, other in zip(ordering.unique(x, out_idx=INT64), _sorted_unique(x), strict=True):
            assert (array.dtype, array.tolist()) == (other.dtype, other.tolist())


def _sorted_unique(x):
    return ordering._unique(x, np.array([], np.int64), INT64)[:2]
