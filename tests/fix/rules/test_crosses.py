"""Feature crosses."""

import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import i32, i64, strings

from tfport.fix.rules.crosses import crossed_as_sparse, crossed_with_the_usual_separator

WORDS, SPLITS = strings("a", "b", "", "c", "a"), i64(0, 2, 2, 5)
NUMBERS, CUTS = i64(7, -1, 5, 9), i64(0, 1, 3, 4)
PLACES, SHAPE = i64([0, 1], [0, 4], [2, 0]), i64(3, 5)


def ragged(inputs, order, *, hashed="false", buckets=0, key=956888297470, splits="int64", **types):
    kinds = {
        "ragged_values_types": [],
        "ragged_splits_types": [],
        "sparse_values_types": [],
        "dense_types": [],
    }
    kinds |= types
    lists = ", ".join(f"{name}=[{', '.join(value)}]" for name, value in kinds.items())
    sparse, out = len(kinds["sparse_values_types"]), "int64" if hashed == "true" else "string"
    return (
        f'y = RaggedCross({inputs}) {{Nsparse={sparse}, input_order="{order}", hashed_output={hashed}, '
        f"num_buckets={buckets}, hash_key={key}, out_values_type={out}, "
        f"out_row_splits_type={splits}, {lists}}}"
    )


TWO = {"ragged_values_types": ["string", "int64"], "ragged_splits_types": ["int64", "int64"]}
SHORT = {**TWO, "ragged_splits_types": ["int32", "int32"]}
MIXED = {"ragged_values_types": ["string"], "ragged_splits_types": ["int64"],
         "sparse_values_types": ["int64"], "dense_types": ["string"]}  # fmt: skip
MIX = {
    "a": WORDS,
    "s": SPLITS,
    "i": PLACES,
    "v": i64(4, 5, 6),
    "h": SHAPE,
    "d": strings(["x", "y"], ["z", ""], ["w", "v"]),
}
PAIR = {"a": WORDS, "b": NUMBERS, "s": SPLITS, "t": CUTS}
NOTHING = {"a": strings(), "b": i64(), "s": i64(0, 0, 0), "t": i64(0, 0, 0)}
BOTH = ["y:0", "y:1"]
V2 = "y = SparseCrossV2(i, a, s, d, sep) {N=1, sparse_types=[KIND], dense_types=[string]}"
SPARSE = {"i": PLACES, "s": SHAPE, "d": strings(["x", "y"], ["z", ""], ["w", "v"]), "constants": ("sep",)}
ALL = ["y:0", "y:1", "y:2"]
USUAL = strings("_X_").reshape(())
CASES = [
    rule_case(crossed_with_the_usual_separator, V2.replace("KIND", "string"), fetches=ALL,
              a=strings("a", "b", "c"), sep=USUAL, **SPARSE),
    rule_case(crossed_as_sparse, ragged("a, b, s, t", "RR", **TWO), fetches=BOTH, **PAIR),
    rule_case(crossed_as_sparse, ragged("a, b, s, t", "RR", **TWO), fetches=BOTH, **NOTHING),
    rule_case(crossed_as_sparse, ragged("a, b, s, t", "RR", hashed="true", **TWO), fetches=BOTH, **PAIR),
    rule_case(crossed_as_sparse,
              ragged("a, b, s, t", "RR", hashed="true", buckets=10, splits="int32", **SHORT),
              fetches=BOTH, open=("a", "b", "s", "t"),
              **PAIR | {"s": i32(0, 2, 2, 5), "t": i32(0, 1, 3, 4)}),
    rule_case(crossed_as_sparse, ragged("a, s, i, v, h, d", "RSD", **MIXED), fetches=BOTH, **MIX),
    rule_case(crossed_as_sparse, ragged("a, s, i, v, h, d", "DRS", **MIXED), fetches=BOTH, open=("d", "s"),
              **MIX),
    rule_case(crossed_as_sparse, ragged("a, s, i, v, h, d", "DSR", hashed="true", key=3, buckets=99, **MIXED),
              fetches=BOTH, **MIX),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, fetches=c.fetches, open=c.open, constants=c.constants, **c.feeds))


def test_refuses():
    assert_refuses(
        crossed_as_sparse,
        ragged("a, b, s, t", "RD", **TWO),
        because="input_order `RD` does not match",
        **PAIR,
    )
    text, words = V2.replace("KIND", "string"), strings("a", "b", "c")
    other = strings("-").reshape(())
    because = "only the separator `_X_`"
    assert_refuses(crossed_with_the_usual_separator, text, because=because, a=words, sep=other, **SPARSE)
    assert_refuses(
        crossed_with_the_usual_separator, V2.replace("KIND", "int64"), because="only strings",
        a=i64(1, 2, 3), sep=USUAL, **SPARSE,
    )  # fmt: skip
