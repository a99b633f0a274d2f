"""Write the small Keras files of `tests/check/keras/files`, which the pages of the codes check.

    python -m tests.check.keras.make_files

The configurations are those that releases of Keras write; there are no weights unless a case needs them.
"""

import json
from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).with_name("files")


def layer(class_name: str, /, **config: object) -> dict[str, object]:
    return {"class_name": class_name, "config": config}


def call(entry: dict[str, object], *histories: list[object]) -> dict[str, object]:
    """A layer of a functional model of Keras 2, with its calls."""
    return {**entry, "name": entry["config"]["name"], "inbound_nodes": [[h] for h in histories]}


def sequential(*layers: object) -> dict[str, object]:
    return layer("Sequential", name="model", layers=list(layers))


def functional(*layers: dict[str, object]) -> dict[str, object]:
    ends = {"input_layers": [[layers[0]["name"], 0, 0]], "output_layers": [[layers[-1]["name"], 0, 0]]}
    return layer("Functional", name="model", layers=list(layers), **ends)


INPUT = layer("InputLayer", name="x", batch_input_shape=[None, 3], dtype="float32")
INNER = functional(
    call(layer("InputLayer", name="inner_x", batch_input_shape=[None, 3])),
    call(layer("Dense", name="inner_d", units=2), ["inner_x", 0, 0, {}]),
)
BYTECODE = ["4wEAAAAAAAAA\n", None, None]
MODELS = {
    "removed_class": sequential(INPUT, layer("CuDNNGRU", name="g", units=2)),
    "removed_argument": sequential(INPUT, layer("LSTM", name="l", units=2, time_major=False)),
    "keras_1_dense": sequential(INPUT, layer("Dense", name="d", output_dim=2)),
    "custom_activation": sequential(INPUT, layer("Dense", name="d", units=2, activation="my_activation")),
    "list_of_layers": {"class_name": "Sequential", "config": [layer("Dense", name="d", units=2)]},
    "old_gru": sequential(INPUT, layer("GRU", name="g", units=2)),
    "shape_in_first_layer": sequential(layer("Dense", name="d", units=2, batch_input_shape=[None, 3])),
    "lambda_layer": sequential(INPUT, layer("Lambda", name="l", function=BYTECODE, function_type="lambda")),
    "backend_layer": sequential(INPUT, layer("TorchModuleWrapper", name="t")),
    "string_lookup": sequential(
        layer("InputLayer", name="x", batch_input_shape=[None, 1], dtype="string"),
        layer("StringLookup", name="s", vocabulary=["boil", "fry"]),
    ),
    "hard_sigmoid": sequential(INPUT, layer("Dense", name="d", units=2, activation="hard_sigmoid")),
    "old_optimizer": sequential(INPUT, layer("Dense", name="d", units=2)),
    "mask_by_keyword": functional(
        call(layer("InputLayer", name="x", batch_input_shape=[None, 4, 3])),
        call(layer("InputLayer", name="m", batch_input_shape=[None, 4], dtype="bool")),
        call(layer("GlobalAveragePooling1D", name="y"), ["x", 0, 0, {"mask": ["m", 0, 0]}]),
    ),
    "nested_model": functional(
        call(INPUT), call({**INNER, "config": {**INNER["config"], "name": "inner"}}, ["x", 0, 0, {}]),
        call(layer("Activation", name="y", activation="relu"), ["inner", 1, 0, {}]),
    ),
}  # fmt: skip
WEIGHTS = {"old_gru": {"g": {"g/kernel:0": (3, 6), "g/recurrent_kernel:0": (2, 6), "g/bias:0": (6,)}}}
ADAM = {"lr": 0.001, "beta_1": 0.9, "beta_2": 0.999, "decay": 0.0, "epsilon": 1e-07, "amsgrad": False}
TRAINING = {
    "old_optimizer": {
        "optimizer_config": {"class_name": "Adam", "config": ADAM},
        "loss": "mse",
        "metrics": ["accuracy", "my_metric"],
    }
}
ARCHITECTURES = {
    "moved_module": {
        "module": "keras.src.engine.sequential",
        **sequential(layer("Dense", name="d", units=2)),
        "registered_name": "Sequential",
    },
    "loading_function": {
        "module": "keras",
        **sequential(
            {
                "module": "keras.layers",
                **layer(
                    "Lambda",
                    name="l",
                    function={"module": "keras.models", "class_name": "function", "config": "load_model"},
                ),
                "registered_name": None,
            }
        ),
        "registered_name": None,
    },
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, config in MODELS.items():
        with h5py.File(FOLDER / f"{name}.h5", "w") as file:
            file.attrs.update(model_config=json.dumps(config), keras_version="2.4.0", backend="tensorflow")
            if name in TRAINING:
                file.attrs["training_config"] = json.dumps(TRAINING[name])
            group = file.create_group("model_weights")
            layers = WEIGHTS.get(name, {})
            group.attrs["layer_names"] = np.array([n.encode() for n in layers], dtype="S8")
            for layer_name, weights in layers.items():
                inner = group.create_group(layer_name)
                inner.attrs["weight_names"] = np.array([n.encode() for n in weights], dtype="S32")
                for weight, shape in weights.items():
                    inner.create_dataset(weight, data=np.zeros(shape, np.float32))
    with h5py.File(FOLDER / "only_weights.h5", "w") as file:
        file.attrs["layer_names"] = np.array([b"d"], dtype="S8")
        group = file.create_group("d")
        group.attrs["weight_names"] = np.array([b"d/kernel:0"], dtype="S32")
        group.create_dataset("d/kernel:0", data=np.zeros((3, 2), np.float32))
    for name, config in ARCHITECTURES.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(config) + "\n")


if __name__ == "__main__":
    main()
