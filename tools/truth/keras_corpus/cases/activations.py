"""Every activation by its name, and the layers that are activations."""

from case import layer, model, options

NAMES = """celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu
linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign
sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink threshold"""

for name in NAMES.split():
    layer("activation_" + name, "Activation", (4,), {"activation": name})
for name in ["hard_sigmoid", "gelu", "softmax", "elu", "swish"]:
    layer(f"activation_{name}_in_dense", "Dense", (3,), {"units": 4, "activation": name})
layer("activation_softmax_rank_3", "Activation", (3, 4), {"activation": "softmax"})

options(
    "ReLU",
    (4,),
    {},
    {
        "plain": {},
        "max_value": {"max_value": 1.5},
        "negative_slope": {"negative_slope": 0.2},
        "threshold": {"threshold": 0.5},
        "all": {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.3},
    },
)
options(
    "LeakyReLU", (4,), {}, {"plain": {}, "alpha": {"alpha": 0.1}, "negative_slope": {"negative_slope": 0.1}}
)
options("ELU", (4,), {}, {"plain": {}, "alpha": {"alpha": 0.5}})
options("ThresholdedReLU", (4,), {}, {"plain": {}, "theta": {"theta": 0.3}})
options(
    "PReLU",
    (3, 4, 2),
    {},
    {"plain": {}, "shared": {"shared_axes": [1, 2]}, "shared_one": {"shared_axes": [1]}},
)
options("Softmax", (3, 4), {}, {"plain": {}, "axis_1": {"axis": 1}, "two_axes": {"axis": [1, 2]}})


@model("Softmax_with_mask")
def softmax_with_mask(k):
    x, mask = k.Input((4,)), k.Input((4,), "bool")
    return k.Model([x, mask], k.layer("Softmax")(x, mask))


@model("LeakyReLU_as_activation")
def layer_as_activation(k):
    x = k.Input((3,))
    return k.Model(x, k.layer("Dense", units=3, activation=k.layer("LeakyReLU"))(x))


@model("function_as_activation")
def function_as_activation(k):
    x = k.Input((3,))
    return k.Model(x, k.layer("Dense", units=3, activation=k.module.activations.tanh)(x))
