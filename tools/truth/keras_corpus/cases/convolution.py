"""Convolutions of all kinds."""

from case import channels_first, model, options

ONE, TWO, THREE = (7, 2), (6, 7, 2), (5, 4, 5, 2)
FILTERS = {"filters": 3, "kernel_size": 3}

options(
    "Conv1D",
    ONE,
    FILTERS,
    {
        "plain": {},
        "same": {"padding": "same"},
        "causal": {"padding": "causal"},
        "causal_dilated": {"padding": "causal", "dilation_rate": 2},
        "dilated": {"dilation_rate": 2},
        "strides": {"strides": 2},
        "strides_same": {"strides": 2, "padding": "same"},
        "causal_strides": {"strides": 2, "padding": "causal"},
        "without_bias": {"use_bias": False, "activation": "relu"},
        "groups": {"filters": 4, "groups": 2},
        "open_length": {"shape": (None, 2), "padding": "same"},
        "dilated_same": {"dilation_rate": 2, "padding": "same"},
    },
)
options(
    "Conv2D",
    TWO,
    FILTERS,
    {
        "plain": {},
        "same": {"padding": "same"},
        "strides": {"strides": 2},
        "strides_same": {"strides": 2, "padding": "same"},
        "strides_two": {"strides": (2, 1), "padding": "same"},
        "dilated": {"dilation_rate": 2},
        "dilated_same": {"dilation_rate": (1, 2), "padding": "same"},
        "even_kernel": {"kernel_size": (2, 4), "padding": "same"},
        "groups": {"filters": 4, "groups": 2},
        "activation": {"activation": "hard_sigmoid"},
        "without_bias": {"use_bias": False},
        "open_size": {"shape": (None, None, 2), "strides": 2, "padding": "same"},
    },
)
options(
    "Conv3D",
    THREE,
    dict(FILTERS, kernel_size=2),
    {
        "plain": {},
        "same_strides": {"padding": "same", "strides": 2},
        "dilated": {"dilation_rate": 2},
        "groups": {"filters": 4, "groups": 2},
    },
)
TRANSPOSED = {
    "plain": {},
    "strides": {"strides": 2},
    "strides_same": {"strides": 2, "padding": "same"},
    "same": {"padding": "same"},
    "output_padding": {"strides": 2, "output_padding": 1, "padding": "same"},
    "output_padding_valid": {"strides": 3, "output_padding": 1},
    "even_kernel": {"kernel_size": 4, "strides": 2, "padding": "same"},
    "stride_over_kernel": {"kernel_size": 2, "strides": 3},
    "dilated": {"dilation_rate": 2},
    "dilated_same": {"dilation_rate": 2, "padding": "same"},
    "without_bias": {"use_bias": False},
}
options("Conv1DTranspose", (4, 2), FILTERS, {key: dict(value) for key, value in TRANSPOSED.items()})
options(
    "Conv2DTranspose",
    (3, 4, 2),
    FILTERS,
    dict(
        {key: dict(value) for key, value in TRANSPOSED.items()},
        strides_two={"strides": (1, 2), "padding": "same"},
        open_size={"shape": (None, None, 2), "strides": 2, "padding": "same"},
    ),
)
options(
    "Conv3DTranspose",
    (2, 3, 2, 2),
    FILTERS,
    {
        "plain": {},
        "strides_same": {"strides": 2, "padding": "same"},
        "output_padding": {"strides": 2, "output_padding": 1},
    },
)
SEPARABLE = {
    "plain": {},
    "same": {"padding": "same"},
    "strides_same": {"strides": 2, "padding": "same"},
    "multiplier": {"depth_multiplier": 2},
    "dilated": {"dilation_rate": 2},
    "without_bias": {"use_bias": False},
}
options(
    "SeparableConv1D",
    ONE,
    FILTERS,
    dict({key: dict(v) for key, v in SEPARABLE.items()}, causal={"padding": "causal"}),
)
options("SeparableConv2D", TWO, FILTERS, {key: dict(v) for key, v in SEPARABLE.items()})
DEPTHWISE = {key: dict(value) for key, value in SEPARABLE.items()}
options("DepthwiseConv1D", ONE, {"kernel_size": 3}, {key: dict(v) for key, v in DEPTHWISE.items()})
options(
    "DepthwiseConv2D",
    TWO,
    {"kernel_size": 3},
    dict({key: dict(v) for key, v in DEPTHWISE.items()}, activation={"activation": "relu6"}),
)
for size in [1, 2, 3]:
    options(
        "LocallyConnected1D",
        ONE,
        FILTERS,
        {
            f"implementation_{size}": {"implementation": size},
            f"strides_{size}": {"implementation": size, "strides": 2, "activation": "tanh"},
        },
    )
    options(
        "LocallyConnected2D",
        (4, 5, 2),
        FILTERS,
        {
            f"implementation_{size}": {"implementation": size},
            f"strides_{size}": {"implementation": size, "strides": (1, 2), "use_bias": False},
        },
    )
options("LocallyConnected1D", ONE, FILTERS, {"plain": {}, "same": {"implementation": 2, "padding": "same"}})
options(
    "LocallyConnected2D", (4, 5, 2), FILTERS, {"plain": {}, "same": {"implementation": 3, "padding": "same"}}
)

channels_first("Conv1D", (2, 7), dict(FILTERS))
channels_first("Conv2D", (2, 6, 5), dict(FILTERS))
channels_first("Conv2D", (2, 6, 5), dict(FILTERS, padding="same", strides=2), "channels_first_same")
channels_first("Conv3D", (2, 4, 4, 4), dict(FILTERS))
channels_first("Conv2DTranspose", (2, 4, 3), dict(FILTERS, strides=2))
channels_first("Conv3DTranspose", (2, 2, 3, 2), dict(FILTERS))
channels_first(
    "SeparableConv2D", (2, 6, 5), dict(FILTERS), major=[2]
)  # Keras 3.15.1 on TensorFlow and JAX disagree
channels_first("SeparableConv1D", (2, 6), dict(FILTERS))
channels_first("DepthwiseConv2D", (2, 6, 5), {"kernel_size": 3})
channels_first("LocallyConnected2D", (2, 4, 5), dict(FILTERS))


@model("Conv2D_network", weights_file=True)
def network(k):
    x = k.Input((8, 8, 1))
    y = k.layer("MaxPooling2D")(
        k.layer("Conv2D", filters=2, kernel_size=3, activation="relu", padding="same")(x)
    )
    y = k.layer("BatchNormalization")(y)
    y = k.layer("Dropout", rate=0.25)(k.layer("Conv2D", filters=2, kernel_size=3, strides=2)(y))
    return k.Model(x, k.layer("Dense", units=3, activation="softmax")(k.layer("Flatten")(y)))
