"""The models of Keras 1, whose layers have other arguments."""

from case import layer, model, options

IMAGE = (6, 5, 2)
CONVOLUTION = {"nb_filter": 3, "nb_row": 3, "nb_col": 2}

options(
    "Dense",
    (4,),
    {"output_dim": 3},
    {
        "plain": {},
        "without_bias": {"bias": False},
        "activation": {"activation": "tanh"},
        "regularized": {"W_regularizer": "l2"},
    },
)
options("Highway", (3,), {}, {"plain": {}, "activation": {"activation": "tanh", "transform_bias": -1}})
layer("MaxoutDense_plain", "MaxoutDense", (4,), {"output_dim": 3, "nb_feature": 2})
layer("TimeDistributedDense_plain", "TimeDistributedDense", (3, 4), {"output_dim": 2})
for name in ["softmax", "softplus", "softsign", "relu", "tanh", "sigmoid", "hard_sigmoid", "linear"]:
    layer("activation_" + name, "Activation", (4,), {"activation": name})
options("LeakyReLU", (4,), {}, {"plain": {}, "alpha": {"alpha": 0.1}})
options("PReLU", (3, 4), {}, {"plain": {}, "shared": {"shared_axes": [1]}})
options("ELU", (4,), {}, {"plain": {}, "alpha": {"alpha": 0.5}})
layer("ThresholdedReLU_plain", "ThresholdedReLU", (4,), {"theta": 0.3})
layer("ParametricSoftplus_plain", "ParametricSoftplus", (4,), {})
layer("SReLU_plain", "SReLU", (4,), {})
options(
    "Convolution1D",
    (7, 2),
    {"nb_filter": 3, "filter_length": 3},
    {
        "plain": {},
        "same": {"border_mode": "same"},
        "strides": {"subsample_length": 2},
        "without_bias": {"bias": False},
    },
)
layer(
    "AtrousConvolution1D_plain",
    "AtrousConvolution1D",
    (7, 2),
    {"nb_filter": 3, "filter_length": 2, "atrous_rate": 2},
)
options(
    "Convolution2D",
    IMAGE,
    CONVOLUTION,
    {
        "plain": {},
        "same": {"border_mode": "same"},
        "strides": {"subsample": (2, 1)},
        "strides_same": {"subsample": (2, 2), "border_mode": "same"},
        "without_bias": {"bias": False},
        "activation": {"activation": "relu"},
    },
)
options(
    "Convolution2D",
    (2, 6, 5),
    dict(CONVOLUTION, dim_ordering="th"),
    {"theano_ordering": {}, "theano_ordering_same": {"border_mode": "same"}},
)
options(
    "AtrousConvolution2D",
    IMAGE,
    CONVOLUTION,
    {"plain": {"atrous_rate": (2, 1)}, "same": {"atrous_rate": (2, 2), "border_mode": "same"}},
)
options(
    "SeparableConvolution2D",
    IMAGE,
    CONVOLUTION,
    {"plain": {}, "multiplier": {"depth_multiplier": 2}, "same": {"border_mode": "same"}},
)
layer("Deconvolution2D_plain", "Deconvolution2D", (3, 4, 2), dict(CONVOLUTION, output_shape=(None, 5, 5, 3)))
layer(
    "Deconvolution2D_strides",
    "Deconvolution2D",
    (3, 4, 2),
    dict(CONVOLUTION, output_shape=(None, 6, 8, 3), subsample=(2, 2), border_mode="same"),
)
options(
    "Convolution3D",
    (4, 4, 4, 2),
    {"nb_filter": 2, "kernel_dim1": 2, "kernel_dim2": 2, "kernel_dim3": 3},
    {"plain": {}, "same": {"border_mode": "same", "subsample": (2, 1, 1)}},
)
options(
    "MaxPooling1D",
    (7, 2),
    {},
    {"plain": {}, "strides": {"pool_length": 3, "stride": 2, "border_mode": "same"}},
)
options(
    "AveragePooling1D",
    (7, 2),
    {},
    {"plain": {}, "strides": {"pool_length": 3, "stride": 2, "border_mode": "same"}},
)
for kind in ["MaxPooling2D", "AveragePooling2D"]:
    options(
        kind,
        IMAGE,
        {},
        {"plain": {}, "same": {"pool_size": (3, 2), "strides": (2, 2), "border_mode": "same"}},
    )
    layer(kind + "_theano_ordering", kind, (2, 6, 4), {"dim_ordering": "th"})
for kind in ["MaxPooling3D", "AveragePooling3D"]:
    layer(kind + "_plain", kind, (4, 5, 4, 2), {})
for kind in ["GlobalMaxPooling1D", "GlobalAveragePooling1D"]:
    layer(kind + "_plain", kind, (4, 2), {})
for kind in ["GlobalMaxPooling2D", "GlobalAveragePooling2D"]:
    layer(kind + "_plain", kind, IMAGE, {})
    layer(kind + "_theano_ordering", kind, IMAGE, {"dim_ordering": "th"})
options(
    "BatchNormalization",
    (3, 4),
    {},
    {"plain": {}, "axis_1": {"axis": 1}, "epsilon": {"epsilon": 0.1}, "mode_2": {"mode": 2, "shape": (4,)}},
)
options(
    "LocallyConnected1D",
    (6, 2),
    {"nb_filter": 3, "filter_length": 2},
    {"plain": {}, "strides": {"subsample_length": 2}},
)
options(
    "LocallyConnected2D",
    (4, 5, 2),
    {"nb_filter": 2, "nb_row": 2, "nb_col": 3},
    {"plain": {}, "strides": {"subsample": (1, 2)}},
)
layer("UpSampling1D_plain", "UpSampling1D", (3, 2), {"length": 3})
layer("UpSampling2D_plain", "UpSampling2D", (3, 4, 2), {"size": (2, 3)})
layer("UpSampling3D_plain", "UpSampling3D", (2, 2, 3, 2), {})
layer("ZeroPadding1D_plain", "ZeroPadding1D", (3, 2), {"padding": 2})
layer("ZeroPadding2D_plain", "ZeroPadding2D", IMAGE, {"padding": (1, 2)})
layer("ZeroPadding2D_uneven", "ZeroPadding2D", IMAGE, {"padding": (1, 2, 0, 3)})
layer("ZeroPadding3D_plain", "ZeroPadding3D", (2, 2, 3, 2), {})
layer("Cropping1D_plain", "Cropping1D", (5, 2), {"cropping": (1, 2)})
layer("Cropping2D_plain", "Cropping2D", IMAGE, {"cropping": ((1, 2), (0, 1))})
layer("Cropping3D_plain", "Cropping3D", (4, 4, 4, 2), {})
layer("Flatten_plain", "Flatten", (3, 2), {})
layer("Reshape_plain", "Reshape", (6, 2), {"target_shape": (3, -1)})
layer("Permute_plain", "Permute", (2, 3, 4), {"dims": (3, 1, 2)})
layer("RepeatVector_plain", "RepeatVector", (3,), {"n": 4})
layer("Dropout_plain", "Dropout", (3,), {"p": 0.5})
layer("GaussianNoise_plain", "GaussianNoise", (3,), {"sigma": 0.5})
layer("GaussianDropout_plain", "GaussianDropout", (3,), {"p": 0.5})
layer("SpatialDropout2D_plain", "SpatialDropout2D", IMAGE, {"p": 0.5})
layer("ActivityRegularization_plain", "ActivityRegularization", (3,), {"l1": 0.1})
options(
    "Embedding",
    (4,),
    {"input_dim": 6, "output_dim": 3},
    {"plain": {}, "mask_zero": {"mask_zero": True}, "dropout": {"dropout": 0.2}},
    dtype="int32",
    ints=6,
)
RECURRENT = {
    "plain": {},
    "sequences": {"return_sequences": True},
    "backwards": {"go_backwards": True, "return_sequences": True},
    "cpu": {"consume_less": "cpu"},
    "gpu": {"consume_less": "gpu"},
    "memory": {"consume_less": "mem"},
    "unrolled": {"unroll": True},
    "dropout": {"dropout_W": 0.2, "dropout_U": 0.1},
}
for kind in ["SimpleRNN", "LSTM", "GRU"]:
    options(kind, (4, 3), {"output_dim": 2}, {key: dict(value) for key, value in RECURRENT.items()})
    if kind != "SimpleRNN":
        layer(
            kind + "_sigmoid",
            kind,
            (4, 3),
            {"output_dim": 2, "inner_activation": "sigmoid", "activation": "relu"},
        )


def bidirectional(kind, merge):
    @model(f"Bidirectional_{kind}_{merge}")
    def build(k):
        x = k.Input((4, 3))
        return k.Model(
            x,
            k.layer(
                "Bidirectional", layer=k.layer(kind, output_dim=2, return_sequences=True), merge_mode=merge
            )(x),
        )


for mode in ["concat", "sum", "mul", "ave"]:
    bidirectional("LSTM", mode)
bidirectional("GRU", "concat")


@model("TimeDistributed_dense")
def time_distributed(k):
    x = k.Input((4, 3))
    return k.Model(x, k.layer("TimeDistributed", layer=k.layer("Dense", output_dim=2))(x))


@model("ConvLSTM2D_plain")
def convolved(k):
    import importlib

    kind = importlib.import_module("keras.layers.convolutional_recurrent").ConvLSTM2D
    x = k.Input((3, 5, 4, 2))
    return k.Model(
        x,
        kind(nb_filter=2, nb_row=2, nb_col=2, return_sequences=True, border_mode="same", dim_ordering="tf")(
            x
        ),
    )


def merged(mode, shapes=((3, 2), (3, 2)), **arguments):
    @model("Merge_" + mode)
    def build(k):
        xs = [k.Input(shape) for shape in shapes]
        return k.Model(xs, k.layers.merge(xs, mode=mode, **arguments))


for mode in ["sum", "mul", "ave", "max"]:
    merged(mode)
merged("concat", ((3, 2), (3, 4)))
merged("dot", ((3, 2), (3, 4)), dot_axes=1)
merged("cos", ((4,), (4,)), dot_axes=1)


@model("Merge_of_sequentials")
def merge_of_models(k):
    parts = [k.Sequential([k.layer("Dense", output_dim=2, input_dim=3)]) for _ in range(2)]
    return k.Sequential([k.layers.Merge(parts, mode="concat"), k.layer("Dense", output_dim=2)])


@model("Embedding_masked_then_lstm", ints=4, weights_file=True)
def embedding_then_lstm(k):
    x = k.Input((5,), "int32")
    y = k.layer("Embedding", input_dim=4, output_dim=3, mask_zero=True)(x)
    return k.Model(x, k.layer("LSTM", output_dim=2)(y))


@model("Masking_then_gru")
def masking_then_gru(k):
    x = k.Input((4, 2))
    return k.Model(x, k.layer("GRU", output_dim=2)(k.layer("Masking", mask_value=0.0)(x)))


@model("Lambda_plain")
def lambda_layer(k):
    x = k.Input((3,))
    return k.Model(x, k.layers.Lambda(lambda x: x * 2 + 1)(x))


@model("sequential", weights_file=True)
def sequential(k):
    return k.Sequential(
        [
            k.layer("Dense", output_dim=4, activation="relu", input_dim=3),
            k.layer("Dropout", p=0.5),
            k.layer("Dense", output_dim=2, activation="softmax"),
        ]
    )


@model("sequential_convolution")
def sequential_convolution(k):
    return k.Sequential(
        [
            k.layer("Convolution2D", nb_filter=2, nb_row=3, nb_col=3, input_shape=(6, 6, 1)),
            k.layer("MaxPooling2D"),
            k.layer("BatchNormalization"),
            k.layer("Flatten"),
            k.layer("Dense", output_dim=2),
        ]
    )


@model("sequential_embedding", ints=5)
def sequential_embedding(k):
    return k.Sequential(
        [k.layer("Embedding", input_dim=5, output_dim=3, input_length=4), k.layer("LSTM", output_dim=2)]
    )


@model("nested", weights_file=True)
def nested(k):
    x = k.Input((3,))
    inner = k.Model(x, k.layer("BatchNormalization")(k.layer("Dense", output_dim=4)(x)))
    y = k.Input((3,))
    return k.Model(y, k.layer("Dense", output_dim=2)(inner(y)))


@model("nested_sequential")
def nested_sequential(k):
    inner = k.Sequential(
        [k.layer("Dense", output_dim=4, input_dim=3), k.layer("Activation", activation="relu")]
    )
    return k.Sequential([inner, k.layer("Dense", output_dim=2)])


@model("shared_layer")
def shared(k):
    a, b = k.Input((3,)), k.Input((3,))
    dense = k.layer("Dense", output_dim=2)
    return k.Model([a, b], k.layers.merge([dense(a), dense(b)], mode="sum"))


@model("several_inputs_and_outputs")
def several(k):
    a, b = k.Input((3,)), k.Input((2,))
    joined = k.layers.merge([k.layer("Dense", output_dim=2)(a), b], mode="concat")
    return k.Model([b, a], [k.layer("Dense", output_dim=1)(joined), k.layer("Dense", output_dim=3)(joined)])
