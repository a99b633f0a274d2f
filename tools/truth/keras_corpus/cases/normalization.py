"""Normalization layers."""

from case import layer, model, options

options(
    "BatchNormalization",
    (3, 2),
    {},
    {
        "plain": {},
        "axis_1": {"axis": 1},
        "epsilon": {"epsilon": 0.1, "momentum": 0.5},
        "without_scale": {"scale": False},
        "without_center": {"center": False},
        "without_both": {"center": False, "scale": False},
        "of_images": {"shape": (3, 4, 2)},
        "of_images_axis_1": {"shape": (3, 4, 2), "axis": 1},
        "of_rank_2": {"shape": (4,)},
        "of_volumes": {"shape": (2, 3, 2, 2)},
        "not_trainable": {"trainable": False},
        "two_axes": {"shape": (3, 4, 2), "axis": [1, 3]},
        "renorm": {"renorm": True},
        "virtual_batch": {"shape": (3, 4, 2), "virtual_batch_size": 1},
        "fused": {"shape": (3, 4, 2), "fused": False},
        "synchronized": {"synchronized": True},
    },
)
layer("SyncBatchNormalization_plain", "SyncBatchNormalization", (3, 2), {})
layer("BatchNormalizationV1_plain", "BatchNormalizationV1", (3, 2), {})
options(
    "LayerNormalization",
    (3, 4),
    {},
    {
        "plain": {},
        "axis_1": {"axis": 1},
        "two_axes": {"axis": [1, 2]},
        "epsilon": {"epsilon": 0.1},
        "without_scale": {"scale": False},
        "without_center": {"center": False},
        "without_both": {"center": False, "scale": False},
        "of_images": {"shape": (2, 3, 4)},
        "of_images_middle": {"shape": (2, 3, 4), "axis": 2},
        "rms_scaling": {"rms_scaling": True},
    },
)
options(
    "GroupNormalization",
    (3, 4),
    {},
    {
        "plain": {"groups": 2},
        "instance": {"groups": -1},
        "one_group": {"groups": 1},
        "epsilon": {"groups": 2, "epsilon": 0.1},
        "axis_1": {"groups": 3, "axis": 1},
        "of_images": {"shape": (2, 3, 4), "groups": 2},
        "without_both": {"groups": 2, "center": False, "scale": False},
    },
)
options("UnitNormalization", (3, 4), {}, {"plain": {}, "axis_1": {"axis": 1}, "two_axes": {"axis": [1, 2]}})
options("RMSNormalization", (3, 4), {}, {"plain": {}, "axis_1": {"axis": 1}, "epsilon": {"epsilon": 0.1}})
options(
    "Normalization",
    (3,),
    {"mean": [1.0, 2.0, 3.0], "variance": [4.0, 0.5, 2.0]},
    {"given": {}, "inverse": {"invert": True}},
    random=False,
)
layer(
    "Normalization_without_axis",
    "Normalization",
    (3,),
    {"axis": None, "mean": 1.5, "variance": 4.0},
    random=False,
)
layer(
    "Normalization_of_images",
    "Normalization",
    (2, 2, 3),
    {"mean": [1.0, 2, 3], "variance": [4.0, 1, 2]},
    random=False,
)


def adapted(name, shape, sample, **arguments):
    @model(name, random=False)
    def build(k):
        normalization = k.layer("Normalization", **arguments)
        import numpy as np

        normalization.adapt(np.array(sample, "float32"))
        x = k.Input(shape)
        return k.Model(x, normalization(x))


adapted("Normalization_adapted", (3,), [[1, 2, 3], [4, 4, 9], [0, 1, 1]])
adapted("Normalization_adapted_axis_none", (3,), [[1, 2, 3], [4, 4, 9], [0, 1, 1]], axis=None)
adapted("Normalization_adapted_axis_1", (2, 3), [[[1, 2, 3], [4, 4, 9]], [[0, 1, 1], [2, 2, 0]]], axis=1)


@model("SpectralNormalization_plain")
def spectral(k):
    x = k.Input((3,))
    return k.Model(x, k.layer("SpectralNormalization", layer=k.layer("Dense", units=2))(x))


@model("SpectralNormalization_of_convolution")
def spectral_convolution(k):
    x = k.Input((4, 4, 2))
    return k.Model(
        x,
        k.layer(
            "SpectralNormalization", layer=k.layer("Conv2D", filters=2, kernel_size=2), power_iterations=2
        )(x),
    )
