"""Parsing of Examples with older ops, and of raw bytes."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import words
from tests.runtime.cases import boolean, f32, i64, scalar
from tests.runtime.ops.io.examples import example, sequence

from tfport.fix.rules.strings.parsing import (
    decoded_as_bytes,
    example_in_a_batch,
    keys_as_attributes,
    keys_at_once,
    keys_one_by_one,
    padded_then_decoded,
)

ONE, TWO, THREE = (
    example(a=[1, 2], f=[0.5, 1.5], s=[b"x"], t=[b"p"]), example(f=[2.5, 3.5]), example(a=[7], s=[b"y",
         b"z"]),
)  # fmt: skip
MANY = words(ONE, TWO, THREE)
NONE = words()
DEFAULT = f32(9, 8)
V2 = (
    "y = ParseExampleV2(x, n, k, d, r, v) {{Tdense=[float32], num_sparse={}, sparse_types={}, "
    "ragged_value_types={}, ragged_split_types={}, dense_shapes=[{}]}}"
)
PLAIN = V2.format(2, "[int64, string]", "[]", "[]", "(2)")
RAGGED = V2.format(1, "[string]", "[int64, string]", "[int64, int32]", "(2)")
KEYS = {"n": NONE, "k": words("a", "s"), "d": words("f"), "r": NONE, "v": DEFAULT}
MIXED = {**KEYS, "k": words("s"), "r": words("a", "t")}
V1 = ("y = ParseExample(x, n, k, l, d, v) {Nsparse=2, Ndense=1, sparse_types=[int64, string], "
      "Tdense=[float32], dense_shapes=[(2)]}")  # fmt: skip
SINGLE = ('y = ParseSingleExample(x, v) {num_sparse=2, sparse_keys=["a", "s"], dense_keys=["f"], '
          "sparse_types=[int64, string], Tdense=[float32], dense_shapes=[(2)]}")  # fmt: skip
SEVEN = [f"y:{i}" for i in range(7)]
EIGHT = [f"y:{i}" for i in range(8)]
KNOWN = ("k", "d", "r")
SEQUENCES = words(
    sequence({"a": [1], "s": [b"x"]}, {"l": [[1.0], [2.0]], "m": [[1, 2], [3]]}),
    sequence({"a": [2]}, {"l": [[3.0]], "m": []}),
    sequence({"a": [3], "s": [b"p", b"q"]}, {"m": [[4]]}),
)
SEQUENCE = ("y = ParseSequenceExampleV2(x, n, cs, cd, cr, ls, ld, lr, may, v) {Ncontext_sparse=1, "
            "Tcontext_dense=[int64], context_sparse_types=[string], context_ragged_value_types=[], "
            "context_ragged_split_types=[], context_dense_shapes=[()], Nfeature_list_sparse=1, "
            "Nfeature_list_dense=1, feature_list_dense_types=[float32], feature_list_sparse_types=[int64], "
            "feature_list_ragged_value_types=[], feature_list_ragged_split_types=[], "
            "feature_list_dense_shapes=[(1)]}")  # fmt: skip
RAGGED_CONTEXT = (SEQUENCE.replace("Ncontext_sparse=1", "Ncontext_sparse=0")
    .replace("context_sparse_types=[string]", "context_sparse_types=[]")
    .replace("context_ragged_value_types=[]", "context_ragged_value_types=[string, int64]")
    .replace("context_ragged_split_types=[]", "context_ragged_split_types=[{}]")
    .replace("{Ncontext", "{{Ncontext").replace("(1)]}", "(1)]}}"))  # fmt: skip
LISTS = {"n": NONE, "cs": words("s"), "cd": words("a"), "cr": NONE, "ls": words("m"), "ld": words("l"),
     "lr": NONE,
         "may": boolean(True), "v": i64()}  # fmt: skip
PADDED = "y = DecodePaddedRaw(x, l) {{out_type={}, little_endian={}}}"
RAW = words("abcd", "", "a", "abcdefghij", shape=(2, 2))
FOUR, EIGHT_BYTES = scalar(4, np.int32), scalar(8, np.int32)
CASES = [
    rule_case(keys_one_by_one, PLAIN, x=MANY, **KEYS, fetches=SEVEN, constants=KNOWN, open=("x",)),
    rule_case(keys_one_by_one, PLAIN, x=MANY, **KEYS, fetches=SEVEN),
    rule_case(keys_one_by_one, PLAIN, x=NONE, **KEYS, fetches=SEVEN, constants=KNOWN),
    rule_case(keys_one_by_one, PLAIN, x=words(ONE, shape=()), **KEYS, fetches=SEVEN, constants=KNOWN),
    rule_case(keys_one_by_one, RAGGED, x=MANY, **MIXED, fetches=EIGHT, constants=KNOWN),
    rule_case(keys_one_by_one, RAGGED, x=words(TWO, TWO), **MIXED, fetches=EIGHT, open=("x",)),
    rule_case(keys_one_by_one, V2.format(0, "[]", "[]", "[]", "(?)"), x=MANY,
              **{**KEYS, "k": NONE, "v": f32(0)}, constants=KNOWN),
    rule_case(keys_at_once, V1, x=MANY, n=NONE, k=words("a", shape=()), l=words("s", shape=()),
              d=words("f", shape=()), v=DEFAULT, constants=("k", "l", "d"), fetches=SEVEN),
    rule_case(keys_at_once, V1, x=MANY, n=NONE, k=words("a", shape=()), l=words("s", shape=()),
              d=words("f", shape=()), v=DEFAULT, fetches=SEVEN),
    *(rule_case(example_in_a_batch, SINGLE, x=words(x, shape=()), v=DEFAULT, fetches=SEVEN)
      for x in (ONE, TWO, THREE)),
    rule_case(example_in_a_batch, SINGLE.replace("(2)", "(?)"), x=words(ONE, shape=()), v=f32(0),
              fetches=SEVEN),
    rule_case(keys_as_attributes, SEQUENCE, x=SEQUENCES, **LISTS, constants=("cs", "cd", "cr", "ls", "ld",
              "lr", "may"),
              fetches=[f"y:{i}" for i in range(9)]),
    *(rule_case(keys_as_attributes, RAGGED_CONTEXT.format(splits), x=SEQUENCES,
                **{**LISTS, "cs": NONE, "cr": words("s", "b")},
                constants=("cs", "cd", "cr", "ls", "ld", "lr", "may"), fetches=[f"y:{i}" for i in range(10)])
      for splits in ("int32, int64", "int64, int32")),
    *(rule_case(padded_then_decoded, PADDED.format(kind, order), x=RAW, l=FOUR, constants=("l",), open=("x",))
      for kind, order in (("uint8", "true"), ("int16", "false"), ("int32", "true"), ("uint16", "true"))),
    rule_case(padded_then_decoded, PADDED.format("int64", "true"), x=RAW, l=EIGHT_BYTES, constants=("l",)),
    rule_case(padded_then_decoded, PADDED.format("uint8", "true"), x=words(shape=(0,)), l=FOUR,
              constants=("l",)),
    rule_case(decoded_as_bytes, "y = DecodeRaw(x) {out_type=bool}", x=words(b"\0\1", b"\1\1")),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


OLD = [c for c in CASES if c.rule not in (keys_as_attributes, keys_at_once)]


@pytest.mark.parametrize(
    "c",
    [chain_case(c.text, fetches=c.fetches, open=c.open, constants=c.constants, **c.feeds) for c in OLD],
    ids=str,
)
def test_the_oldest_target_takes_it(c):
    check_chain(c)


REFUSED = [
    (keys_one_by_one, RAGGED, "a single Example", {"x": words(ONE, shape=()), **MIXED}),
    (keys_as_attributes, SEQUENCE, "its keys are not constant", {"x": SEQUENCES, **LISTS}),
    (keys_as_attributes, SEQUENCE.replace("feature_list_ragged_value_types=[]",
         "feature_list_ragged_value_types=[int64]"),
     "its feature lists are ragged", {"x": SEQUENCES, **LISTS}),
    (keys_as_attributes, SEQUENCE, "known to be a vector", {"x": SEQUENCES[0], **LISTS,
                                                                     "types": {"x": "string"}}),
    (padded_then_decoded, PADDED.format("uint8", "true"), "its length is not known", {"x": RAW, "l": FOUR}),
    (decoded_as_bytes, "y = DecodeRaw(x) {out_type=int32}", "its out_type is not bool", {"x": RAW}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED)
def test_others_stay(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **inputs)
