"""What reads a few Examples, or hashes a few strings, one by one answers as what does it for many."""

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
from tfport.runtime.ops.io.parse_few import FEW, few_examples, few_examples_v2
from tfport.runtime.ops.strings.fingerprints import fingerprint64
from tfport.runtime.ops.strings.short_fingerprints import LONGEST, short_fingerprint64

WAYS = {"ParseExample": (parse_example, few_examples), "ParseExampleV2": (parse_example_v2, few_examples_v2)}
CASES = [case for case in test_parse_example.CASES if case.op in WAYS]
NAMED = {
    "ParseExample": ("sparse_types", "dense_shapes"),
    "ParseExampleV2": (
        "num_sparse",
        "sparse_types",
        "ragged_value_types",
        "ragged_split_types",
        "dense_shapes",
    ),
}


def operands(given):
    one = given[0].dtype if isinstance(given, list) and given else None
    if isinstance(given, list):
        return [Operand(FLOAT32 if one == np.float32 else STRING, value=each) for each in given]
    return Operand(STRING, value=given)


def flat(answer):
    if isinstance(answer, np.ndarray):
        return [answer]
    return [array for part in answer for array in flat(part)]


def quick_and_slow(op, inputs, attrs):
    """What both ways answer: None where the quick one passes, the error where the slow one fails."""
    kernel, few = WAYS[op]
    attrs = {name: attrs[name] for name in NAMED[op]}
    way = few([operands(given) for given in inputs], attrs)
    got = way([inputs[0]]) if way is not None else None
    try:
        wanted = flat(kernel(*inputs, **attrs))
    except RunFailed as error:
        return got, error
    return got, wanted


def same(got, wanted):
    assert not isinstance(wanted, RunFailed), "an error is for the slow way to tell"
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist()) or (
            one.dtype.kind == "f" and one.tobytes() == other.tobytes()
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_cases(case):
    got, wanted = quick_and_slow(case.op, case.inputs, case.attrs)
    if got is not None:
        same(got, wanted)


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
    return quick_and_slow("ParseExampleV2", inputs, ATTRS)


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


@pytest.mark.parametrize("rows", [1, 2, 9, FEW])
def test_a_few_are_read_one_by_one(rows):
    rng = np.random.default_rng(rows)
    got, wanted = parsed([message(rng) for _ in range(rows)])
    assert got is not None
    same(got, wanted)


@pytest.mark.parametrize("rows", [0, FEW + 1])
def test_many_and_none_are_not(rows):
    assert parsed([message(np.random.default_rng(0))] * rows)[0] is None


def test_another_field_is_skipped():
    one = message(np.random.default_rng(1))
    got, wanted = parsed([one + b"\x78\x01"])
    assert got is not None
    same(got, wanted)


def test_what_is_damaged_is_never_read_otherwise():
    rng = np.random.default_rng(2)
    read = 0
    for _ in range(1500):
        data = bytearray(message(rng))
        for _ in range(int(rng.integers(1, 3))):
            data[int(rng.integers(0, len(data)))] = int(rng.choice([0, 1, 8, 10, 13, 18, 26, 127, 128, 255]))
        cut = len(data) if rng.random() < 0.7 else int(rng.integers(0, len(data)))
        got, wanted = parsed([bytes(data[:cut])])
        if got is not None:
            read += 1
            same(got, wanted)
    assert read > 50


def test_short_strings_have_the_same_fingerprints():
    rng = np.random.default_rng(3)
    strings = [rng.bytes(n) for n in range(LONGEST + 1) for _ in range(20)]
    assert [short_fingerprint64(one) for one in strings] == fingerprint64(strings).tolist()


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64"])
def test_few_integers_are_unique_as_many_are(kind):
    rng = np.random.default_rng(4)
    for size in (0, 1, 3, 64):
        x = rng.integers(0, 9, size).astype(kind)
        for one, other in zip(ordering.unique(x, out_idx=INT64), _sorted_unique(x), strict=True):
            assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


def _sorted_unique(x):
    return ordering._unique(x, np.array([], np.int64), INT64)[:2]
