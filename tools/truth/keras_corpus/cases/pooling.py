"""Pooling of all kinds."""

from case import channels_first, options

SHAPES = {1: (7, 2), 2: (6, 7, 2), 3: (5, 4, 5, 2)}

for rank, shape in SHAPES.items():
    for kind in ["MaxPooling%dD", "AveragePooling%dD"]:
        options(
            kind % rank,
            shape,
            {},
            {
                "plain": {"pool_size": 2},
                "same": {"pool_size": 2, "padding": "same"},
                "strides": {"pool_size": 3, "strides": 2},
                "strides_same": {"pool_size": 3, "strides": 2, "padding": "same"},
                "stride_1_same": {"pool_size": 2, "strides": 1, "padding": "same"},
            },
        )
        channels_first(kind % rank, shape[-1:] + shape[:-1], {"pool_size": 2})
        channels_first(
            kind % rank, shape[-1:] + shape[:-1], {"pool_size": 2, "padding": "same"}, "channels_first_same"
        )
    for kind in ["GlobalMaxPooling%dD", "GlobalAveragePooling%dD"]:
        options(kind % rank, shape, {}, {"plain": {}, "keepdims": {"keepdims": True}})
        channels_first(kind % rank, shape[-1:] + shape[:-1], {})
    for kind in ["AdaptiveMaxPooling%dD", "AdaptiveAveragePooling%dD"]:
        options(
            kind % rank,
            shape,
            {},
            {"plain": {"output_size": 2}, "uneven": {"output_size": 3}, "one": {"output_size": 1}},
        )
        channels_first(kind % rank, shape[-1:] + shape[:-1], {"output_size": 3})
options(
    "MaxPooling2D",
    (6, 7, 2),
    {},
    {"uneven": {"pool_size": (2, 3), "strides": (1, 2)}, "open": {"shape": (None, None, 2)}},
)
options(
    "AveragePooling2D", (6, 7, 2), {}, {"uneven": {"pool_size": (2, 3), "strides": (1, 2), "padding": "same"}}
)
