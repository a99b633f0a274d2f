"""Preprocessing of words, integers and categories."""

import numpy as np
from case import layer, model, options

WORDS = ["boil", "fry", "bake"]
STRINGS = [
    [np.array([["fry", "eat"], ["bake", "boil"]], object)],
    [np.array([["", "fry"], ["[UNK]", "bake"], ["boil", "boil"]], object)],
]
ONE = [[np.array([["fry"], ["eat"]], object)], [np.array([["bake"], ["boil"], ["x"]], object)]]
NUMBERS = [[np.array([[12, 36], [7, 1138]])], [np.array([[1138, 5], [42, 12], [0, -1]])]]
CATEGORIES = [[np.array([[1, 3], [0, 2]])], [np.array([[0, 0], [3, 3], [2, 1]])]]

options(
    "StringLookup",
    (2,),
    {"vocabulary": WORDS},
    {
        "plain": {},
        "mask": {"mask_token": ""},
        "three_oov": {"num_oov_indices": 3},
        "multi_hot": {"output_mode": "multi_hot"},
        "count": {"output_mode": "count"},
        "old_binary": {"output_mode": "binary"},
        "inverse_of": {"oov_token": "?"},
        "without_oov": {
            "num_oov_indices": 1,
            "mask_token": "boil",
            "vocabulary": ["boil", "fry", "bake"],
            "oov_token": "x",
        },
        "encoded": {"encoding": "utf-8"},
        "padded": {"output_mode": "count", "pad_to_max_tokens": True, "max_tokens": 8},
    },
    dtype="string",
    feeds=STRINGS,
    random=False,
)
layer(
    "StringLookup_one_hot",
    "StringLookup",
    (1,),
    {"vocabulary": WORDS, "output_mode": "one_hot"},
    dtype="string",
    feeds=ONE,
    random=False,
)
layer(
    "StringLookup_tf_idf",
    "StringLookup",
    (2,),
    {"vocabulary": WORDS, "output_mode": "tf_idf", "idf_weights": [0.5, 1.5, 2.5]},
    dtype="string",
    feeds=STRINGS,
    random=False,
)
options(
    "StringLookup",
    (2,),
    {"vocabulary": WORDS, "invert": True},
    {"inverse": {}, "inverse_mask": {"mask_token": ""}},
    dtype="int64",
    feeds=CATEGORIES,
    random=False,
)
options(
    "IntegerLookup",
    (2,),
    {"vocabulary": [12, 36, 1138]},
    {
        "plain": {},
        "mask": {"mask_token": 0},
        "two_oov": {"num_oov_indices": 2},
        "multi_hot": {"output_mode": "multi_hot"},
        "count": {"output_mode": "count"},
        "oov_token": {"oov_token": -1},
    },
    dtype="int64",
    feeds=NUMBERS,
    random=False,
)
layer(
    "IntegerLookup_inverse",
    "IntegerLookup",
    (2,),
    {"vocabulary": [12, 36, 1138], "invert": True},
    dtype="int64",
    feeds=CATEGORIES,
    random=False,
)
layer(
    "IntegerLookup_of_int32",
    "IntegerLookup",
    (2,),
    {"vocabulary": [12, 36, 1138]},
    dtype="int32",
    random=False,
    feeds=[[feed.astype("int32") for feed in feeds] for feeds in NUMBERS],
)
options(
    "CategoryEncoding",
    (2,),
    {"num_tokens": 4},
    {
        "multi_hot": {"output_mode": "multi_hot"},
        "count": {"output_mode": "count"},
        "sparse": {"output_mode": "count", "sparse": True},
    },
    dtype="int64",
    feeds=CATEGORIES,
    random=False,
)
layer(
    "CategoryEncoding_one_hot",
    "CategoryEncoding",
    (1,),
    {"num_tokens": 4, "output_mode": "one_hot"},
    dtype="int64",
    feeds=[[feed[:, :1] for feed in feeds] for feeds in CATEGORIES],
    random=False,
)
layer(
    "CategoryEncoding_old",
    "CategoryEncoding",
    (2,),
    {"max_tokens": 4, "output_mode": "binary"},
    dtype="int64",
    feeds=CATEGORIES,
    random=False,
)
options(
    "Hashing",
    (2,),
    {"num_bins": 5},
    {
        "plain": {},
        "salt": {"salt": 133},
        "salts": {"salt": [133, 137]},
        "mask": {"mask_value": ""},
        "multi_hot": {"output_mode": "multi_hot"},
        "count": {"output_mode": "count"},
    },
    dtype="string",
    feeds=STRINGS,
    random=False,
)
layer(
    "Hashing_one_hot",
    "Hashing",
    (1,),
    {"num_bins": 5, "output_mode": "one_hot"},
    dtype="string",
    feeds=ONE,
    random=False,
)
layer("Hashing_of_integers", "Hashing", (2,), {"num_bins": 5}, dtype="int64", feeds=NUMBERS, random=False)
TEXT = [
    [np.array([["Boil the pasta, please!"], ["FRY  eggs"]], object)],
    [np.array([["the the eggs boil"], [""], ["bake <b>bread</b> now"]], object)],
]


def text(name, arguments, adapt=False):
    @model("TextVectorization_" + name, feeds=TEXT, random=False)
    def build(k):
        if not adapt and "vocabulary" not in arguments:
            layer_here = k.layer("TextVectorization", vocabulary=["the", "boil", "fry", "eggs"], **arguments)
        else:
            layer_here = k.layer("TextVectorization", **arguments)
        if adapt:
            layer_here.adapt(np.array([["boil the pasta"], ["fry the eggs"], ["boil eggs"]]))
        x = k.Input((1,), "string")
        return k.Model(x, layer_here(x))


text("plain", {})
text("length", {"output_sequence_length": 3})
text("adapted", {"max_tokens": 6, "output_sequence_length": 4}, adapt=True)
text("adapted_tf_idf", {"output_mode": "tf_idf"}, adapt=True)
text("adapted_tf_idf_old", {"output_mode": "tf-idf"}, adapt=True)
text("adapted_binary_old", {"output_mode": "binary"}, adapt=True)
text("multi_hot", {"output_mode": "multi_hot"})
text("count", {"output_mode": "count"})
text("ngrams", {"ngrams": 2, "vocabulary": ["the", "the eggs", "boil the", "fry"]})
text("ngrams_list", {"ngrams": [2], "vocabulary": ["the", "the eggs", "boil the", "fry"]})
text("without_standardizing", {"standardize": None})
text("lower", {"standardize": "lower"})
text("strip_punctuation", {"standardize": "strip_punctuation"})
text("characters", {"split": "character", "vocabulary": list("abeth ")})
text("without_splitting", {"split": None, "vocabulary": ["fry  eggs", "the"]})
text("ragged", {"ragged": True})


@model("TextVectorization_then_lstm", feeds=TEXT, random=False)
def classifier(k):
    x = k.Input((1,), "string")
    y = k.layer("TextVectorization", vocabulary=["the", "boil", "fry", "eggs"], output_sequence_length=4)(x)
    y = k.layer("Embedding", input_dim=6, output_dim=3, mask_zero=True)(y)
    return k.Model(x, k.layer("Dense", units=2)(k.layer("LSTM", units=2)(y)))


@model("StringLookup_adapted", feeds=STRINGS, random=False)
def adapted_lookup(k):
    x = k.Input((2,), "string")
    lookup = k.layer("StringLookup", max_tokens=3)
    lookup.adapt(np.array([["fry", "boil"], ["fry", "bake"], ["fry", "bake"]]))
    return k.Model(x, lookup(x))


@model("IntegerLookup_adapted", feeds=NUMBERS, random=False)
def adapted_integers(k):
    x = k.Input((2,), "int64")
    lookup = k.layer("IntegerLookup")
    lookup.adapt(np.array([[12, 7], [12, 42], [7, 12]]))
    return k.Model(x, lookup(x))


@model("Discretization_adapted", random=False)
def adapted_bins(k):
    x = k.Input((3,))
    bins = k.layer("Discretization", num_bins=4)
    bins.adapt(np.linspace(-2, 3, 30).reshape(10, 3).astype("float32"))
    return k.Model(x, bins(x))


@model(
    "HashedCrossing_plain",
    feeds=[[feed[0][:, :1], CATEGORIES[i][0][:, :1]] for i, feed in enumerate(STRINGS)],
    random=False,
)
def crossing(k):
    x, y = k.Input((1,), "string"), k.Input((1,), "int64")
    return k.Model([x, y], k.layer("HashedCrossing", num_bins=7)((x, y)))


@model(
    "HashedCrossing_one_hot",
    feeds=[[feed[0][:, :1], CATEGORIES[i][0][:, :1]] for i, feed in enumerate(STRINGS)],
    random=False,
)
def crossing_one_hot(k):
    x, y = k.Input((1,), "string"), k.Input((1,), "int64")
    return k.Model([x, y], k.layer("HashedCrossing", num_bins=7, output_mode="one_hot")((x, y)))


@model("CategoryCrossing_plain", feeds=[[feed[0][:, :1], feed[0][:, 1:]] for feed in STRINGS], random=False)
def category_crossing(k):
    x, y = k.Input((1,), "string"), k.Input((1,), "string")
    return k.Model([x, y], k.layer("CategoryCrossing")([x, y]))
