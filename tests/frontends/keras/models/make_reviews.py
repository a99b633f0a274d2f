"""Write reviews.h5: a model of texts in the form in which Keras 2.2.4 saved it in 2019.

    python tests/frontends/keras/models/make_reviews.py        needs h5py and NumPy, not Keras

The configuration is what `model.to_json()` of Keras 2.2.4 prints for this model. Two things in it trouble
newer releases: the class CuDNNGRU is gone, and `hard_sigmoid` computes something else. The weights are
random.
"""

import json
from pathlib import Path

import h5py
import numpy as np

OUT = Path(__file__).resolve().with_name("reviews.h5")
SCALED = {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None}
KERNEL = {"class_name": "VarianceScaling", "config": SCALED}
ZEROS = {"class_name": "Zeros", "config": {}}
NOT_TRAINED = dict.fromkeys(
    ["kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint"]
)


def layer(class_name: str, **config: object) -> dict[str, object]:
    return {"class_name": class_name, "config": {"trainable": True, **config}}


def dense(name: str, units: int, activation: str) -> dict[str, object]:
    return layer(
        "Dense",
        name=name,
        units=units,
        activation=activation,
        use_bias=True,
        kernel_initializer=KERNEL,
        bias_initializer=ZEROS,
        **NOT_TRAINED,
    )


CELL = layer(
    "CuDNNGRU",
    name="cu_dnngru_1",
    units=4,
    return_sequences=False,
    return_state=False,
    go_backwards=False,
    stateful=False,
    kernel_initializer=KERNEL,
    recurrent_initializer={"class_name": "Orthogonal", "config": {"gain": 1.0, "seed": None}},
    bias_initializer=ZEROS,
    recurrent_regularizer=None,
    recurrent_constraint=None,
    **NOT_TRAINED,
)
LAYERS = [
    layer(
        "Embedding",
        name="words",
        batch_input_shape=[None, 12],
        dtype="float32",
        input_dim=60,
        output_dim=6,
        embeddings_initializer={
            "class_name": "RandomUniform",
            "config": {"minval": -0.05, "maxval": 0.05, "seed": None},
        },
        embeddings_regularizer=None,
        activity_regularizer=None,
        embeddings_constraint=None,
        mask_zero=False,
        input_length=12,
    ),
    layer("Bidirectional", name="reader", layer=CELL, merge_mode="concat"),
    layer("Dropout", name="dropout", rate=0.5, noise_shape=None, seed=None),
    dense("topics", 5, "hard_sigmoid"),
    dense("positive", 1, "sigmoid"),
]
GRU = {"kernel": (6, 12), "recurrent_kernel": (4, 12), "bias": (24,)}
WEIGHTS = {
    "words": {"words/embeddings:0": (60, 6)},
    "reader": {
        f"reader/{direction}_cu_dnngru_1/{name}:0": shape
        for direction in ("forward", "backward")
        for name, shape in GRU.items()
    },
    "dropout": {},
    "topics": {"topics/kernel:0": (8, 5), "topics/bias:0": (5,)},
    "positive": {"positive/kernel:0": (5, 1), "positive/bias:0": (1,)},
}


def write(path: Path) -> None:
    random = np.random.default_rng(2019)
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = b"2.2.4", b"tensorflow"
        config = {"class_name": "Sequential", "config": {"name": "reviews", "layers": LAYERS}}
        file.attrs["model_config"] = json.dumps(config).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = np.asarray([name.encode() for name in WEIGHTS])
        for name, weights in WEIGHTS.items():
            inner = group.create_group(name)
            inner.attrs["weight_names"] = np.asarray([weight.encode() for weight in weights], "S")
            for weight, shape in weights.items():
                inner[weight] = random.normal(0, 1.5, shape).astype("float32")


if __name__ == "__main__":
    write(OUT)
