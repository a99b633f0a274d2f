"""Reshaping, cropping, padding, upsampling."""

from case import channels_first, layer, options

options(
    "Flatten",
    (3, 2),
    {},
    {
        "plain": {},
        "of_rank_2": {"shape": (4,)},
        "of_images": {"shape": (2, 3, 2)},
        "channels_first": {"shape": (2, 3, 2), "data_format": "channels_first"},
        "of_scalars": {"shape": ()},
    },
)
options(
    "Reshape",
    (6, 2),
    {},
    {
        "plain": {"target_shape": (3, 4)},
        "open": {"target_shape": (-1, 3)},
        "to_rank_2": {"target_shape": (12,)},
        "of_open": {"shape": (None, 4), "target_shape": (-1, 2)},
    },
)
options("Permute", (2, 3, 4), {}, {"plain": {"dims": (3, 1, 2)}, "swap": {"dims": (2, 1, 3)}})
layer("RepeatVector_plain", "RepeatVector", (3,), {"n": 4})
options("Cropping1D", (6, 2), {}, {"plain": {}, "uneven": {"cropping": (1, 2)}, "number": {"cropping": 2}})
options(
    "Cropping2D",
    (6, 7, 2),
    {},
    {"plain": {"cropping": 1}, "two": {"cropping": (1, 2)}, "uneven": {"cropping": ((1, 2), (0, 1))}},
)
options("Cropping3D", (5, 5, 6, 2), {}, {"plain": {}, "uneven": {"cropping": ((1, 0), (0, 1), (2, 1))}})
options("ZeroPadding1D", (3, 2), {}, {"plain": {}, "uneven": {"padding": (1, 2)}})
options(
    "ZeroPadding2D",
    (3, 4, 2),
    {},
    {"plain": {}, "two": {"padding": (1, 2)}, "uneven": {"padding": ((1, 2), (0, 1))}},
)
options("ZeroPadding3D", (2, 3, 2, 2), {}, {"plain": {}, "uneven": {"padding": ((1, 0), (0, 1), (2, 1))}})
options("UpSampling1D", (3, 2), {}, {"plain": {}, "three": {"size": 3}})
options(
    "UpSampling2D",
    (3, 4, 2),
    {},
    {
        "plain": {},
        "two": {"size": (2, 3)},
        "bilinear": {"interpolation": "bilinear"},
        "bilinear_three": {"interpolation": "bilinear", "size": 3},
        "bicubic": {"interpolation": "bicubic"},
        "area": {"interpolation": "area"},
        "lanczos3": {"interpolation": "lanczos3"},
        "lanczos5": {"interpolation": "lanczos5"},
        "mitchellcubic": {"interpolation": "mitchellcubic"},
        "gaussian": {"interpolation": "gaussian"},
    },
)
options("UpSampling3D", (2, 3, 2, 2), {}, {"plain": {}, "uneven": {"size": (1, 2, 3)}})
channels_first("Cropping2D", (2, 5, 6), {"cropping": ((1, 2), (0, 1))})
channels_first("ZeroPadding2D", (2, 3, 4), {"padding": ((1, 2), (0, 1))})
channels_first("UpSampling2D", (2, 3, 4), {"size": (2, 3)})
channels_first("UpSampling2D", (2, 3, 4), {"interpolation": "bilinear"}, "channels_first_bilinear")
channels_first("Cropping3D", (2, 4, 5, 6), {"cropping": ((1, 2), (0, 1), (1, 1))})
channels_first("ZeroPadding3D", (2, 3, 2, 2), {"padding": ((1, 2), (0, 1), (0, 0))})
channels_first("UpSampling3D", (2, 3, 2, 2), {"size": (2, 1, 2)})
channels_first("ZeroPadding1D", (2, 3), {"padding": (1, 2)})
