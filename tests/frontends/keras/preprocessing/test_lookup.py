"""Words to indices: lookups, hashing and texts. The answers are those of TensorFlow 2.15 and Keras 3.15."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.errors import CannotRun

WORDS = ["boil", "fry", "bake"]
TOKENS = np.array([["fry", "eat"], ["", "boil"]], object)
TEXTS = np.array([["Boil the pasta, please!"], ["the  the"], [""]], object)
VOCABULARY = ["the", "boil", "fry"]


def strings(layer, version="2.15.0", shape=(None, 2)):
    return built(sequential(layer, shape=shape, dtype="string"), {}, version)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[2, 0], [0, 1]]),
        ({"mask_token": ""}, [[3, 1], [0, 2]]),
        ({"num_oov_indices": 3}, [[4, 2], [2, 3]]),
        ({"output_mode": "multi_hot"}, [[1, 0, 1, 0], [1, 1, 0, 0]]),
        ({"output_mode": "multi_hot", "mask_token": ""}, [[1, 0, 1, 0], [0, 1, 0, 0]]),
        (
            {"output_mode": "count", "pad_to_max_tokens": True, "max_tokens": 5},
            [[1, 0, 1, 0, 0], [1, 1, 0, 0, 0]],
        ),
        ({"output_mode": "tf_idf", "idf_weights": [0.5, 1.5, 2.5]}, [[1.5, 0, 1.5, 0], [1.5, 0.5, 0, 0]]),
        ({"vocabulary": ["[UNK]", *WORDS]}, [[2, 0], [0, 1]]),
    ],
)
def test_string_lookup(options, expected):
    layer = ("StringLookup", {"vocabulary": WORDS, **options})
    np.testing.assert_allclose(answers(strings(layer), TOKENS)[0], expected)


def test_an_inverse_lookup_gives_tokens():
    options = {"vocabulary": WORDS, "invert": True, "mask_token": "", "oov_token": "?"}
    model = built(sequential(("StringLookup", options), shape=(None, 3), dtype="int64"), {})
    assert answers(model, np.int64([[0, 1, 3]]))[0].tolist() == [[b"", b"?", b"fry"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[1, 0], [3, 0]]),
        ({"num_oov_indices": 2}, [[2, 1], [4, 0]]),
        ({"mask_token": 7}, [[2, 0], [4, 1]]),
    ],
)
def test_integer_lookup(options, expected):
    layer = ("IntegerLookup", {"vocabulary": [12, 36, 1138], **options})
    model = built(sequential(layer, shape=(None, 2), dtype="int64"), {})
    assert answers(model, np.int64([[12, 7], [1138, 8]]))[0].tolist() == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[3, 2, 1, 1], [2, 2, 0, 0], [0, 0, 0, 0]]),
        ({"output_sequence_length": 3}, [[3, 2, 1], [2, 2, 0], [0, 0, 0]]),
        ({"output_sequence_length": 5}, [[3, 2, 1, 1, 0], [2, 2, 0, 0, 0], [0] * 5]),
        ({"standardize": "lower"}, [[3, 2, 1, 1], [2, 2, 0, 0], [0, 0, 0, 0]]),
        ({"standardize": None}, [[1, 2, 1, 1], [2, 2, 0, 0], [0, 0, 0, 0]]),
        ({"output_mode": "count"}, [[2, 1, 1, 0], [0, 2, 0, 0], [0, 0, 0, 0]]),
        ({"output_mode": "multi_hot"}, [[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]),
        ({"ngrams": [2], "vocabulary": ["the the", "boil the"]}, [[3, 1, 1], [2, 0, 0], [0, 0, 0]]),
        ({"split": None, "vocabulary": ["the  the"]}, [[1], [2], [0]]),
    ],
)
def test_text_vectorization(options, expected):
    layer = ("TextVectorization", {"vocabulary": VOCABULARY, **options})
    assert answers(strings(layer, shape=(None, 1)), TEXTS)[0].tolist() == expected


def test_text_is_split_into_characters():
    layer = ("TextVectorization", {"vocabulary": ["é", "a"], "split": "character", "standardize": None})
    texts = np.array([["éa"], ["b"]], object)
    texts = np.vectorize(lambda s: s.encode(), otypes=[object])(texts)
    assert answers(strings(layer, shape=(None, 1)), texts)[0].tolist() == [[2, 3], [1, 0]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"num_bins": 5}, [[2, 4], [3, 2]]),  # as TensorFlow 2.4 to 2.15 answer
        ({"num_bins": 5, "salt": [956888297470, 956888297470]}, [[2, 4], [3, 2]]),
    ],
)
def test_hashing(options, expected):
    words = np.array([["fry", "eat"], ["bake", "boil"]], object)
    assert answers(strings(("Hashing", options)), words)[0].tolist() == expected


def test_a_masked_token_is_hashed_to_0():
    layer = ("Hashing", {"num_bins": 3, "mask_value": ""})
    result = answers(strings(layer), TOKENS)[0]
    assert (result == 0).tolist() == [[False, False], [True, False]]


def test_a_sparse_result_is_dense_here():
    options = {"num_bins": 3, "output_mode": "count"}
    sparse = answers(strings(("Hashing", {**options, "sparse": True})), TOKENS)[0]
    np.testing.assert_array_equal(sparse, answers(strings(("Hashing", options)), TOKENS)[0])


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (("StringLookup", {}), "its vocabulary is not in the file"),
        (
            ("StringLookup", {"vocabulary": "/etc/passwd"}),
            "is the file `/etc/passwd`, which is not part of the model",
        ),
        (("TextVectorization", {"vocabulary": WORDS, "ragged": True}), "its result is ragged"),
        (
            ("TextVectorization", {"vocabulary": WORDS, "standardize": "mine"}),
            "a function that is not in the file",
        ),
    ],
)
def test_what_cannot_be_built_is_said(layer, message):
    with pytest.raises(CannotRun, match=message):
        strings(layer, shape=(None, 1))
