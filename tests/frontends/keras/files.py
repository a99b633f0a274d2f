"""Small Keras files for tests of commands, as Keras 2 writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.keras.samples import h5, put_layers

LAYERS = [
    {"class_name": "Dense", "config": {"name": "hidden", "units": 3, "activation": "relu"}},
    {"class_name": "Dropout", "config": {"name": "dropout", "rate": 0.5}},
    {"class_name": "Dense", "config": {"name": "scores", "units": 2, "activation": "softmax"}},
]
INPUT = {
    "class_name": "InputLayer",
    "config": {"name": "x", "batch_input_shape": [None, 4], "dtype": "float32"},
}
MODEL = {"class_name": "Sequential", "config": {"name": "small", "layers": [INPUT, *LAYERS]}}
TRAINING = {
    "optimizer_config": {"class_name": "Adam", "config": {"learning_rate": 0.0010000000474974513}},
    "loss": "categorical_crossentropy",
    "metrics": ["accuracy"],
}
X = np.linspace(-1, 1, 8, dtype="f4").reshape(2, 4)


def weights(seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    shapes = {"hidden": (4, 3), "scores": (3, 2)}
    return {
        name: {
            f"{name}/kernel:0": random.normal(size=shape).astype("f4"),
            f"{name}/bias:0": random.normal(size=shape[1]).astype("f4"),
        }
        for name, shape in shapes.items()
    }


def write_h5(
    path: Path, config: Mapping[str, Any] | None = MODEL, version: str = "2.2.4-tf", **arrays: Any
) -> str:
    """Write an `.h5` model, or its weights if there is no configuration; returns its path."""

    def write(file: Any) -> None:
        file.attrs["keras_version"], file.attrs["backend"] = version, "tensorflow"
        if config is not None:
            file.attrs["model_config"], file.attrs["training_config"] = (
                json.dumps(config),
                json.dumps(TRAINING),
            )
        put_layers(file.create_group("model_weights") if config is not None else file, arrays or weights())

    path.write_bytes(h5(write))
    return str(path)


def expected(x: np.ndarray) -> np.ndarray:
    """The scores of the small model."""
    arrays = weights()
    hidden = np.maximum(x @ arrays["hidden"]["hidden/kernel:0"] + arrays["hidden"]["hidden/bias:0"], 0)
    logits = hidden @ arrays["scores"]["scores/kernel:0"] + arrays["scores"]["scores/bias:0"]
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
