"""A configuration with any value in any place is built or refused with one sentence, in little time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.frontends.keras.built_models import built, sequential

from tfport.errors import CannotRun, Error

IMAGES = [
    (
        "Conv2D",
        {"filters": 2, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same", "activation": "relu"},
    ),
    ("BatchNormalization", {"axis": 3, "epsilon": 0.001}),
    ("MaxPooling2D", {"pool_size": [2, 2], "strides": [2, 2], "padding": "valid"}),
    ("UpSampling2D", {"size": [2, 2], "interpolation": "nearest"}),
    ("Flatten", {"data_format": "channels_last"}),
    ("Dense", {"units": 2, "activation": "softmax"}),
]
SEQUENCES = [
    ("Masking", {"mask_value": 0.0}),
    ("Bidirectional", {"layer": {"class_name": "LSTM", "config": {"units": 2}}, "merge_mode": "concat"}),
    ("Permute", {"dims": [1]}),
    ("Reshape", {"target_shape": [2, -1]}),
]
CONFIGS = [sequential(*IMAGES, shape=(None, 6, 6, 2)), sequential(*SEQUENCES, shape=(None, 5, 2))]
VALUES = st.sampled_from(
    [None, True, -1, 0, 1, 3, 10**6, 10**12, 2.5, 1e308, "", "x", "valid", "float16", [], [None], [1], [1, 2],
     [[1, 2], [3]], {}, {"class_name": "Dense", "config": {"units": 2}}, ["x", 0, 0]]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*path, key))


PLACES = st.sampled_from([(config, path) for config in CONFIGS for path in places(config)])


LARGE = (CONFIGS[1], ("config", "layers", 1, "config", "mask_value")), 1e308


@given(PLACES, VALUES)
@example(*LARGE)
@settings(max_examples=200, deadline=None)
def test_any_value_in_any_place_is_built_or_refused(place, value):
    config, (*outer, last) = copy.deepcopy(place[0]), place[1]
    inner = config
    for key in outer:
        inner = inner[key]
    inner[last] = value
    message = refusal(config)
    assert message is None or message.startswith("m.h5: ")


def refusal(config: Any) -> str | None:
    try:
        built(config, {})
    except Error as error:
        return str(error)
    return None


def test_an_option_that_asks_for_too_many_nodes_is_refused():
    config = sequential(("AdaptiveAveragePooling1D", {"output_size": 10**9}), shape=(None, 5, 2))
    with pytest.raises(CannotRun, match="its options ask for more than"):
        built(config, {}, "3.15.1")
