"""Strings of Examples that are only hashed: one step parses and hashes them, with the same outputs."""

import numpy as np
import pytest
from tests.runtime.ops.io.examples import example
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.runtime.passes.programs.hashed_features import FEW, hashed_features

ATTRS = (
    "num_sparse=1, sparse_types=[string], Tdense=[string, float32, string], dense_shapes=[(), (), ()], "
    "ragged_value_types=[string], ragged_split_types=[int32]"
)
GRAPH = """
x = Placeholder() {dtype=string, shape=(?)}
names = Const() {dtype=string, value=string(0)[]}
sparse = Const() {dtype=string, value=string(1)["tags"]}
dense = Const() {dtype=string, value=string(3)["city", "age", "kept"]}
ragged = Const() {dtype=string, value=string(1)["words"]}
city0 = Const() {dtype=string, value=string()["nowhere"]}
age0 = Const() {dtype=float32, value=float32()[-1.0]}
kept0 = Const() {dtype=string, value=string()["?"]}
p = ParseExampleV2(x, names, sparse, dense, ragged, city0, age0, kept0) {ATTRS}
city = StringToHashBucketFast(p:3) {num_buckets=1000}
again = StringToHashBucketFast(p:3) {num_buckets=9223372036854775807}
tags = StringToHashBucketFast(p:1) {num_buckets=7}
words = StringToHashBucketFast(p:6) {num_buckets=1000000}
""".replace("ATTRS", ATTRS)
HASHED = ["city:0", "again:0", "tags:0", "words:0"]
OTHERS = ["p:0", "p:2", "p:4", "p:5", "p:7"]
LETTERS = bytes(range(97, 123)) * 10


def strings(row, longest):
    return [LETTERS[i : i + (row * 13 + i * 29) % longest] for i in range(row % 4)]


def examples(number, **odd):
    rows = []
    for row in range(number):
        values = {"age": [float(row)], "city": [LETTERS[: row % 140]], "kept": [b"k%d" % row]}
        values |= {"tags": strings(row, 50), "words": strings(row + 1, 200)}
        rows.append({name: some for name, some in values.items() if some and (row + len(name)) % 9})
    if odd:
        rows[-1] = odd
    return np.array([example(**row) for row in rows], object)


def steps_of(session, fetches):
    program = session.program(fetches, ["x:0"])
    hashed_features(program, session.engine)
    return [step.name for step in program.steps]


@pytest.mark.parametrize("rows", [0, 1, FEW, FEW + 1, 300])
def test_features_are_hashed_as_their_strings_would_be(rows):
    session, feeds = session_of(GRAPH), {"x:0": examples(rows)}
    assert steps_of(session, HASHED + OTHERS) == ["p"]
    together = session.run(HASHED + OTHERS, feeds)
    apart = [session_of(GRAPH).run([*OTHERS, "p:3", "p:1", "p:6", name], feeds) for name in HASHED]
    for found, expected in zip(together, [*(each[-1] for each in apart), *apart[0]], strict=False):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()


def test_strings_that_something_else_reads_are_created():
    assert steps_of(session_of(GRAPH), ["city:0", "p:3"]) == ["p", "city"]
    assert steps_of(session_of(GRAPH), ["city:0", "tags:0", "p:1"]) == ["p", "tags"]


@pytest.mark.parametrize(
    ("odd", "message"),
    [({"city": [1.0]}, "Key: city"), ({"city": [b"a", b"b"]}, "Key: city"), ({"tags": [3]}, "Key: tags")],
)
def test_an_invalid_example_is_named_as_without_hashing(odd, message):
    feeds = {"x:0": examples(FEW + 20, **odd)}
    with pytest.raises(RunFailed, match=message) as joined:
        session_of(GRAPH).run(HASHED, feeds)
    with pytest.raises(RunFailed) as alone:
        session_of(GRAPH).run(["p:1", "p:3"], feeds)
    assert str(joined.value) == str(alone.value)
    assert f"Example {FEW + 19}" in str(joined.value)
