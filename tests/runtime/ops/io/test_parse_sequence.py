import numpy as np
import pytest
from tests.runtime.cases import boolean, case, check, checks, f32, i64, strings
from tests.runtime.ops.io.examples import NO_INTS, NO_STRINGS, field, one, sequence, serialized

from tfport.graph.dtypes import FLOAT32, INT32, INT64, STRING
from tfport.graph.shapes import Shape

NONE = np.empty(0, object)
NOTHING = {"sparse": (), "dense": (), "ragged": (), "lists": (), "steps": (), "ragged_lists": ()}


def keys(pairs):
    return [pair[0] for pair in pairs]


def second(messages, *, names=NONE, fails=False, ways=("engine", "fed", "host"), **requested):
    """(key, type) but for dense: (key, default, shape), and for steps: (key, type, shape, may miss)."""
    a = {**NOTHING, **requested}
    return case(
        "ParseSequenceExampleV2",
        messages,
        names,
        serialized(*(k.encode() for k in keys(a["sparse"]))),
        serialized(*(k.encode() for k in keys(a["dense"]))),
        serialized(*(k.encode() for k in keys(a["ragged"]))),
        serialized(*(k.encode() for k in keys(a["lists"]))),
        serialized(*(k.encode() for k in keys(a["steps"]))),
        serialized(*(k.encode() for k in keys(a["ragged_lists"]))),
        boolean(*(missing for *_, missing in a["steps"])),
        [default for _, default, _ in a["dense"]],
        Ncontext_sparse=len(a["sparse"]),
        context_sparse_types=[t for _, t in a["sparse"]],
        context_ragged_value_types=[t for _, t in a["ragged"]],
        context_ragged_split_types=[INT32 for _ in a["ragged"]],
        context_dense_shapes=[Shape(s) for _, _, s in a["dense"]],
        Nfeature_list_sparse=len(a["lists"]),
        Nfeature_list_dense=len(a["steps"]),
        feature_list_dense_types=[t for _, t, _, _ in a["steps"]],
        feature_list_sparse_types=[t for _, t in a["lists"]],
        feature_list_ragged_value_types=[t for _, t in a["ragged_lists"]],
        feature_list_ragged_split_types=[INT64 for _ in a["ragged_lists"]],
        feature_list_dense_shapes=[Shape(s) for _, _, s, _ in a["steps"]],
        fails=fails,
        ways=ways,
    )


def attributes(a):
    return {
        "Ncontext_sparse": len(a["sparse"]),
        "Ncontext_dense": len(a["dense"]),
        "Nfeature_list_sparse": len(a["lists"]),
        "Nfeature_list_dense": len(a["steps"]),
        "context_sparse_types": [t for _, t in a["sparse"]],
        "feature_list_dense_types": [t for _, t, _, _ in a["steps"]],
        "context_dense_shapes": [Shape(s) for _, _, s in a["dense"]],
        "feature_list_sparse_types": [t for _, t in a["lists"]],
        "feature_list_dense_shapes": [Shape(s) for _, _, s, _ in a["steps"]],
    }


def first(messages, *, names=NONE, fails=False, **requested):
    a = {**NOTHING, **requested}
    return case(
        "ParseSequenceExample",
        messages,
        names,
        [default for _, default, _ in a["dense"]],
        feature_list_dense_missing_assumed_empty=[k for k, _, _, missing in a["steps"] if missing],
        context_sparse_keys=keys(a["sparse"]),
        context_dense_keys=keys(a["dense"]),
        feature_list_sparse_keys=keys(a["lists"]),
        feature_list_dense_keys=keys(a["steps"]),
        **attributes(a),
        fails=fails,
    )


def single(message, *, fails=False, **requested):
    a = {**NOTHING, **requested}
    return case(
        "ParseSingleSequenceExample",
        one(message),
        serialized(*(k.encode() for k, _, _, missing in a["steps"] if missing)),
        *([one(k.encode()) for k in keys(a[kind])] for kind in ("sparse", "dense", "lists", "steps")),
        [default for _, default, _ in a["dense"]],
        one(b"name"),
        **attributes(a),
        fails=fails,
    )


S1 = sequence(
    {"a": [1, 2], "d": [1.5], "s": [b"x"]},
    {"l": [[1, 2], NO_INTS, [3]], "m": [[1, 2], [3, 4]], "t": [[b"q"]]},
)
S2 = sequence(
    {"d": [2.5], "r": [5, 6]}, {"l": [], "n": [[7, 8], NO_INTS, None, [9]], "t": [[b""], [b"zz", b"y"]]}
)
S3 = sequence({"a": [3], "d": [-1.0]}, {"m": [[5, 6]], "l": [[4]]})
MANY = serialized(*[S1, S2, S3] * 20)
ASKED = {
    "sparse": [("a", INT64), ("s", STRING)],
    "dense": [("d", f32(), (1,)), ("e", f32(7, 8), (2,))],
    "lists": [("l", INT64), ("t", STRING)],
    "steps": [("m", INT64, (2,), True)],
}
MORE = {**ASKED, "ragged": [("r", INT64)], "ragged_lists": [("n", INT64)]}

CASES = [
    second(serialized(S1, S2, S3), **MORE),
    second(MANY, **MORE, names=strings(*(f"n{i}" for i in range(60)))),
    second(one(S1), **ASKED),
    second(one(S2), **ASKED),
    second(MANY[:0], **{**MORE, "dense": ASKED["dense"][1:]}),
    second(
        serialized(b"", b""),
        sparse=[("a", INT64)],
        lists=[("l", INT64)],
        steps=[("m", FLOAT32, (2, 2), True)],
    ),
    second(serialized(S1, S2), steps=[("m", INT64, (2,), False)], fails=True),
    second(serialized(S1), steps=[("l", INT64, (2,), False)], fails=True),
    second(serialized(S1), steps=[("l", INT64, (1,), False)], fails=True),
    second(serialized(S3), steps=[("l", INT64, (), False)]),
    second(serialized(S3), steps=[("m", INT64, (1, 2), False)]),
    second(serialized(S1), lists=[("l", FLOAT32)], fails=True),
    second(serialized(S1), sparse=[("a", FLOAT32)], fails=True),
    second(serialized(S1), dense=[("e", f32(), (1,))], fails=True),
    second(serialized(S1), dense=[("a", i64(0), (1,))], fails=True),
    second(serialized(S1), dense=[("e", f32(1), (2,))], fails=True),
    second(serialized(S1[:-1]), sparse=[("a", INT64)], fails=True),
    second(serialized(S1), sparse=[("a", INT64)], names=strings("x", "y"), fails=True),
    first(serialized(S1, S2, S3), **ASKED),
    first(MANY, **ASKED),
    first(serialized(field(7, b"other") + S1), **ASKED),
    first(serialized(S1, S2), steps=[("m", INT64, (2,), False)], fails=True),
    single(S1, **ASKED),
    single(S2, **ASKED),
    single(S3, **ASKED),
    single(S1, steps=[("l", INT64, (2,), False)], fails=True),
    single(S2, steps=[("m", INT64, (2,), False)], fails=True),
    single(S1, lists=[("l", FLOAT32)], fails=True),
    single(S1, dense=[("e", f32(), (1,))], fails=True),
    single(S1[:-1], sparse=[("a", INT64)], fails=True),
    single(sequence({}, {"t": [NO_STRINGS, [b"a"]]}), lists=[("t", STRING)]),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_sequence_examples(c, ways):
    check("parse_sequence", c, ways)
