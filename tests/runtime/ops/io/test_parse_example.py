import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i64, strings
from tests.runtime.ops.io.examples import (
    NO_FLOATS,
    NO_INTS,
    NO_STRINGS,
    example,
    feature,
    field,
    one,
    serialized,
    unpacked,
)

import tfport
from tfport.graph.dtypes import FLOAT32, INT32, INT64, STRING, DType
from tfport.graph.shapes import Shape

NONE = np.empty(0, object)
FLOAT64 = DType.parse("float64")


def parse(messages, *, sparse=(), dense=(), ragged=(), names=NONE, fails=False):
    """ParseExampleV2: sparse and ragged as (key, type), dense as (key, default, shape)."""
    return case(
        "ParseExampleV2",
        messages,
        names,
        serialized(*(k.encode() for k, _ in sparse)),
        serialized(*(k.encode() for k, _, _ in dense)),
        serialized(*(k.encode() for k, _ in ragged)),
        [default for _, default, _ in dense],
        num_sparse=len(sparse),
        sparse_types=[t for _, t in sparse],
        ragged_value_types=[t for _, t in ragged],
        ragged_split_types=[INT32 if i % 2 else INT64 for i in range(len(ragged))],
        dense_shapes=[Shape(s) for _, _, s in dense],
        fails=fails,
    )


def old(messages, *, sparse=(), dense=(), names=NONE, fails=False):
    return case(
        "ParseExample",
        messages,
        names,
        [one(k.encode()) for k, _ in sparse],
        [one(k.encode()) for k, _, _ in dense],
        [default for _, default, _ in dense],
        Nsparse=len(sparse),
        Ndense=len(dense),
        sparse_types=[t for _, t in sparse],
        dense_shapes=[Shape(s) for _, _, s in dense],
        fails=fails,
    )


def single(message, *, sparse=(), dense=(), fails=False):
    return case(
        "ParseSingleExample",
        one(message),
        [default for _, default, _ in dense],
        num_sparse=len(sparse),
        sparse_keys=[k for k, _ in sparse],
        dense_keys=[k for k, _, _ in dense],
        sparse_types=[t for _, t in sparse],
        dense_shapes=[Shape(s) for _, _, s in dense],
        fails=fails,
    )


def written(n, seed=0):
    """Examples in which every feature is sometimes missing, empty, or of another length."""
    random = np.random.default_rng(seed)
    messages = []
    for i in range(n):
        features = {
            "f": random.normal(size=2).tolist(),
            "fs": random.normal(size=random.integers(1, 5)).tolist() if i % 3 else NO_FLOATS,
            "i": [int(random.integers(-5, 1 << int(random.integers(1, 62))))],
            "is": [int(v) for v in random.integers(-9, 300, random.integers(1, 7))] if i % 4 else NO_INTS,
            "s": [b"x" * int(random.integers(0, 200))],
            "ss": [b"y" * int(k) for k in random.integers(0, 9, random.integers(1, 4))]
            if i % 5
            else NO_STRINGS,
            "a_long_key_that_is_not_asked_for_at_all": [1, 2, 3],
            "a_long_key_that_is_asked_for_and_has_words": [i],
        }
        order = random.permutation(list(features))
        messages.append(
            example(**{k: features[k] for k in order if k in ("f", "i", "s") or random.random() > 0.1})
        )
    return serialized(*messages)


ALL = {
    "sparse": [("fs", FLOAT32), ("is", INT64), ("ss", STRING)],
    "dense": [
        ("f", f32(), (2,)),
        ("i", i64(), (1,)),
        ("s", strings(), ()),
        ("a_long_key_that_is_asked_for_and_has_words", i64(7), (1,)),
        ("missing", f32(1, 2), (2,)),
    ],
}
PADDED = [
    ("fs", f32(-1), (None,)),
    ("is", i64(-1), (None,)),
    ("ss", strings("-"), (None,)),
    ("f", f32(0), (None, 2)),
    ("missing", f32(0), (None, 3)),
]
RAGGED = [("fs", FLOAT32), ("is", INT64), ("ss", STRING), ("missing", INT64)]
TWO = serialized(example(a=[1, 2], b=[0.5], c=[b"x"]), example(a=[-1]))
A, B, C = ("a", INT64), ("b", FLOAT32), ("c", STRING)
TRUNCATED = example(a=[1, 2])[:-1]
EXTRA = field(9, b"other") + example(a=[5]) + b"\x48\x01" + example(b=[1.5])
NOT_IN_ORDER = field(1, field(1, field(2, feature([1])) + field(1, b"a")))

CASES = [
    parse(written(2), **ALL),
    parse(written(40), **ALL),
    parse(written(130), sparse=ALL["sparse"][:1], dense=PADDED[1:], ragged=[]),
    parse(written(3), dense=PADDED),
    parse(written(60), ragged=RAGGED, dense=[("f", f32(), (2,))]),
    parse(TWO, sparse=[A, B, C], names=strings("x", "y")),
    parse(TWO, sparse=[A, B, C, ("no", FLOAT32)]),
    parse(TWO[:0], sparse=[A], dense=[("b", f32(1), (1,)), ("c", strings("-"), (None,))]),
    parse(serialized(b"", b""), sparse=[A], dense=[("b", f32(1), (1,))], ragged=[C]),
    parse(TWO, dense=[("b", f32(1), (1,)), ("c", strings("-"), (1,))]),
    parse(TWO, dense=[("b", np.float32(1), ()), ("c", one(b"-"), ())]),
    parse(TWO, dense=[("b", f32(1, 2), (2,))], fails=True),  # it has one element
    parse(TWO, dense=[("b", f32(), (1,))], fails=True),  # the second has none
    parse(TWO, dense=[("b", f32(1), ())], fails=True),  # default of another shape
    parse(TWO, dense=[("a", i64(0), (None, 2))], fails=True),  # three elements are not a multiple of two
    parse(TWO, dense=[("a", i64(), (None,))], fails=True),  # no padding value
    parse(TWO, sparse=[("a", FLOAT32)], fails=True),
    parse(TWO, dense=[("a", f32(1), (1,))], fails=True),
    parse(TWO, sparse=[("a", FLOAT64)], fails=True),
    parse(TWO, sparse=[A], names=strings("x"), fails=True),
    parse(TWO.reshape(1, 2), sparse=[A], fails=True),
    parse(one(TWO[0]), sparse=[A, B], dense=[("c", strings("-"), (1,))], ragged=[("r", INT64)]),
    parse(one(TWO[1]), sparse=[A, B], dense=[("c", strings("-"), (None,))]),
    parse(serialized(example(a=[1], b=None)), sparse=[A, B], dense=[("c", strings("-"), (1,))]),
    parse(serialized(example(b=None)), dense=[("b", f32(4), (1,))]),
    parse(serialized(example(b=NO_FLOATS)), dense=[("b", f32(4), (1,))], fails=True),
    parse(serialized(example(b=NO_FLOATS)), dense=[("b", f32(), (0,))]),
    parse(serialized(example(a=unpacked([1, -2, 300]), b=unpacked([0.5, -1.5]))), sparse=[A, B]),
    parse(
        serialized(*[example(a=unpacked([i, 2]) if i % 2 else [i], b=[0.5]) for i in range(30)]),
        sparse=[A, B],
    ),
    parse(
        serialized(*[example(b=unpacked([0.5, 2.0]) if i % 2 else [0.5 * i]) for i in range(30)]), sparse=[B]
    ),
    parse(serialized(EXTRA), sparse=[A, B]),
    parse(serialized(*[EXTRA] * 30), sparse=[A, B]),
    parse(serialized(example(a=[1]) + example(a=[2, 3])), sparse=[A]),  # the last value is used
    parse(serialized(*[example(a=[i]) + example(a=[2, i]) for i in range(30)]), sparse=[A]),
    parse(serialized(example(b=[1.0]) + example(b=None)), dense=[("b", f32(9), (1,))]),
    parse(serialized(example(b=[1.0]) + example(b=None)), sparse=[B]),
    parse(serialized(TRUNCATED), sparse=[A], fails=True),
    parse(serialized(*[TRUNCATED] * 30), sparse=[A], fails=True),
    parse(serialized(b"nonsense"), sparse=[A], fails=True),
    parse(serialized(NOT_IN_ORDER), sparse=[A]),
    parse(serialized(*[NOT_IN_ORDER, example(a=[2])] * 20), sparse=[A]),
    parse(serialized(field(1, field(1, field(1, b"a")))), sparse=[A], fails=True),  # no value
    parse(serialized(field(1, field(1, field(2, b"")))), sparse=[A], fails=True),  # no key
    parse(
        serialized(field(1, field(1, field(1, b"a") + field(2, feature([1])) + field(3, b"")))),
        sparse=[A],
        fails=True,
    ),
    parse(serialized(field(1, field(1, b""))), sparse=[A], fails=True),
    parse(serialized(example(a=b"\x22\x01x")), sparse=[A], fails=True),
    parse(serialized(example(a=b"\x22\x01x", b=[1.0])), sparse=[B]),  # the malformed feature is not requested
    parse(serialized(example(a=field(3, field(1, b"\x80")))), sparse=[A], fails=True),
    parse(serialized(example(a=field(3, field(1, b"\xff" * 10 + b"\x01")))), sparse=[A], fails=True),
    parse(serialized(example(a=field(3, field(1, b"\x01") + field(1, b"\x02")))), sparse=[A]),
    parse(serialized(example(a=field(3, field(1, b"\x01")) + field(2, b""))), sparse=[A]),
    parse(serialized(example(b=field(2, field(1, b"\0\0\x80\x3f\x01")))), sparse=[B]),
    parse(serialized(example(c=[b"\xff\x00", b"", b"z" * 300])), sparse=[C]),
    parse(serialized(example(b=[float(i) for i in range(300)])), sparse=[B]),
    parse(serialized(*[example(b=[float(i)] * 100) for i in range(30)]), dense=[("b", f32(), (20, 5))]),
    old(written(2), **ALL),
    old(written(40), **ALL),
    old(TWO, sparse=[A], dense=PADDED[:1]),
    old(TWO, sparse=[A, B, C], names=strings("x", "y")),
    old(one(TWO[0]), sparse=[A], fails=True),
    old(TWO, dense=[("b", f32(), (1,))], fails=True),
    single(written(1)[0], **ALL),
    single(written(6)[5], dense=PADDED),
    single(b"", sparse=[A, C], dense=[("b", f32(1), (1,)), ("d", f32(1), (None, 2))]),
    single(TWO[0], sparse=[A, C], dense=[("b", f32(1), (1,))]),
    single(TWO[0], sparse=[B], dense=[("a", i64(0), (None, 2))]),
    single(TWO[0], sparse=[B], dense=[("a", i64(0), (None, 3))], fails=True),
    single(TWO[0], sparse=[C], dense=[("b", f32(), (2,))], fails=True),
    single(TWO[0], sparse=[("b", INT64)], fails=True),
    single(TRUNCATED, sparse=[A], fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_examples(c, ways):
    check("parse_example", c, ways)


def test_an_error_names_the_example_and_its_feature():
    c = parse(TWO, dense=[("b", f32(), (1,))], names=strings("first", "second"))
    graph_def, feeds = c.model("fed")
    session = tfport.Session(tfport.load(graph_def.SerializeToString()))
    with pytest.raises(tfport.Error, match=r"Example 1 \(`second`\): Feature: b \(data type: float\) is req"):
        session.run(c.outputs(), feeds)
