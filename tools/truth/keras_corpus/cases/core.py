"""Dense, EinsumDense, Embedding, Masking, Lambda and others of Keras's core."""

from case import layer, model, options

options(
    "Dense",
    (4,),
    {"units": 3},
    {
        "plain": {},
        "without_bias": {"use_bias": False},
        "on_rank_3": {"shape": (2, 4)},
        "on_open_rank_3": {"shape": (None, 4)},
        "constrained": {
            "kernel_constraint": "max_norm",
            "bias_constraint": "non_neg",
            "kernel_regularizer": "l2",
            "activity_regularizer": "l1",
        },
        "named_initializers": {"kernel_initializer": "he_normal", "bias_initializer": "ones"},
        "with_dtype": {"dtype": "float64"},
        "lora": {"lora_rank": 2},
    },
)
options(
    "EinsumDense",
    (3, 4),
    {},
    {
        "plain": {"equation": "abc,cd->abd", "output_shape": (None, 5)},
        "bias": {
            "equation": "abc,cd->abd",
            "output_shape": (None, 5),
            "bias_axes": "d",
            "activation": "relu",
        },
        "two_axes": {"equation": "abc,cde->abde", "output_shape": (3, 2, 3), "bias_axes": "de"},
        "ellipsis": {"equation": "...x,xy->...y", "output_shape": 5, "bias_axes": "y"},
        "swapped": {"equation": "abc,bcd->ad", "output_shape": 3, "bias_axes": "d"},
    },
)
options(
    "Embedding",
    (4,),
    {"input_dim": 6, "output_dim": 3},
    {"plain": {}, "mask_zero": {"mask_zero": True}, "input_length": {"input_length": 4}},
    dtype="int32",
    ints=6,
)
layer("Embedding_of_floats", "Embedding", (4,), {"input_dim": 6, "output_dim": 3}, ints=6)
layer("Embedding_of_int64", "Embedding", (None,), {"input_dim": 6, "output_dim": 3}, dtype="int64", ints=6)
options(
    "ReversibleEmbedding",
    (4,),
    {"input_dim": 6, "output_dim": 3},
    {"plain": {}, "untied": {"tie_weights": False}},
    dtype="int32",
    ints=6,
)
layer("Masking_plain", "Masking", (3, 2), {"mask_value": 0.0})
layer("Activation_linear", "Activation", (3,), {"activation": "linear"})
layer("Identity_plain", "Identity", (3,), {})


@model("ReversibleEmbedding_both_ways", ints=6)
def reversible(k):
    x = k.Input((4,), "int32")
    table = k.layer("ReversibleEmbedding", input_dim=6, output_dim=3)
    return k.Model(x, table(table(x), reverse=True))


@model(
    "Masking_then_mean",
    feeds=[
        [[[[1.0, 2], [0, 0], [3, 4], [0, 1]], [[0, 0], [5, 6], [0, 0], [0, 0]]]],
        [[[[0.0, 0], [1, 0], [3, 4], [0, 0]]]],
    ],
)
def masking_then_mean(k):
    x = k.Input((4, 2))
    return k.Model(x, k.layer("GlobalAveragePooling1D")(k.layer("Masking", mask_value=0.0)(x)))


@model(
    "Masking_then_lstm",
    feeds=[
        [[[[1.0, 2], [-1, -1], [3, 4], [-1, 1]], [[-1, -1], [5, 6], [-1, -1], [-1, -1]]]],
        [[[[-1.0, -1], [1, -1], [3, 4], [-1, -1]]]],
    ],
)
def masking_then_lstm(k):
    x = k.Input((None, 2))
    y = k.layer("Masking", mask_value=-1.0)(x)
    y = k.layer("LSTM", units=3, return_sequences=True)(y)
    return k.Model(x, k.layer("GRU", units=2)(k.layer("Dropout", rate=0.5)(y)))


@model("Embedding_masked_then_lstm", ints=4, weights_file=True)
def embedding_then_lstm(k):
    x = k.Input((5,), "int32")
    y = k.layer("Embedding", input_dim=4, output_dim=3, mask_zero=True)(x)
    return k.Model(x, k.layer("LSTM", units=2)(y))


@model("Embedding_masked_then_bidirectional", ints=3)
def embedding_then_bidirectional(k):
    x = k.Input((5,), "int32")
    y = k.layer("Embedding", input_dim=3, output_dim=3, mask_zero=True)(x)
    y = k.layer("Bidirectional", layer=k.layer("GRU", units=2, return_sequences=True))(y)
    return k.Model(x, k.layer("TimeDistributed", layer=k.layer("Dense", units=2))(y))


@model("Embedding_masked_then_mean", ints=3)
def embedding_then_mean(k):
    x = k.Input((None,), "int32")
    y = k.layer("Embedding", input_dim=3, output_dim=3, mask_zero=True)(x)
    y = k.layer("SpatialDropout1D", rate=0.1)(
        k.layer("BatchNormalization")(k.layer("Activation", activation="tanh")(y))
    )
    return k.Model(x, k.layer("GlobalAveragePooling1D")(y))


@model("Embedding_masked_then_concatenate", ints=3)
def embedding_then_concatenate(k):
    x = k.Input((4,), "int32")
    table = k.layer("Embedding", input_dim=3, output_dim=3, mask_zero=True)
    other = k.layer("Embedding", input_dim=3, output_dim=2)
    y = k.layer("Concatenate")([table(x), other(x)])
    return k.Model(x, k.layer("LSTM", units=2)(y))


@model("Embedding_masked_then_add", ints=3)
def embedding_then_add(k):
    x, y = k.Input((4,), "int32"), k.Input((4,), "int32")
    table = k.layer("Embedding", input_dim=3, output_dim=3, mask_zero=True)
    return k.Model([x, y], k.layer("GRU", units=2)(k.layer("Add")([table(x), table(y)])))


@model("Lambda_plain", random=False)
def lambda_layer(k):
    x = k.Input((3,))
    return k.Model(x, k.layer("Lambda", function=lambda x: x * 2 + 1)(k.layer("Dense", units=3)(x)))


def double(x, by=2.0):
    return x * by


@model("Lambda_of_a_function")
def lambda_of_a_function(k):
    x = k.Input((3,))
    return k.Model(x, k.layer("Lambda", function=double, arguments={"by": 3.0}, output_shape=(3,))(x))
