"""Convert models of models_*.py with TensorFlow's converter: every model in the ways its users convert.

    .venv-live/bin/python tools/truth/lite/generate.py FOLDER [NAME…]

Files go to FOLDER/generated/NAME-WAY.tflite; those of one model in three to FOLDER/heldout/generated. What
the converter refuses is in FOLDER/refused.json; neither that nor existing files are tried again. Repeat the
command if the converter ends the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import models_functions
import models_sequences
import models_vision
import numpy as np
import tensorflow as tf

NEWEST = "2.21.0"
"""Files of other releases of the converter have its version in their names."""
OPS, OPTIMIZE = tf.lite.OpsSet, tf.lite.Optimize
KERAS = models_vision.MODELS | models_sequences.MODELS
FUNCTIONS = models_functions.MODELS


def float32(c: Any) -> None:
    pass


def float16(c: Any) -> None:
    c.optimizations = [OPTIMIZE.DEFAULT]
    c.target_spec.supported_types = [tf.float16]


def dynamic(c: Any) -> None:
    c.optimizations = [OPTIMIZE.DEFAULT]


def int8(c: Any) -> None:
    c.optimizations = [OPTIMIZE.DEFAULT]
    c.target_spec.supported_ops = [OPS.TFLITE_BUILTINS_INT8]
    c.inference_input_type = c.inference_output_type = tf.int8


def int8_float_io(c: Any) -> None:
    c.optimizations = [OPTIMIZE.DEFAULT]


def uint8(c: Any) -> None:
    int8(c)
    c.inference_input_type = c.inference_output_type = tf.uint8


def int8_per_tensor(c: Any) -> None:
    int8(c)
    c._experimental_disable_per_channel = True
    c._experimental_disable_per_channel_quantization_for_dense_layers = True


def int16(c: Any) -> None:
    c.optimizations = [OPTIMIZE.DEFAULT]
    c.target_spec.supported_ops = [OPS.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8]
    c.inference_input_type = c.inference_output_type = tf.int16


def legacy_int8(c: Any) -> None:
    """The quantizer of before 2024, which is still there."""
    int8(c)
    c.experimental_new_quantizer = False


def sparse(c: Any) -> None:
    c.optimizations = [OPTIMIZE.EXPERIMENTAL_SPARSITY]


def flex(c: Any) -> None:
    c.target_spec.supported_ops = [OPS.TFLITE_BUILTINS, OPS.SELECT_TF_OPS]


def custom(c: Any) -> None:
    c.allow_custom_ops = True


def stablehlo(c: Any) -> None:
    c.target_spec.supported_ops = [OPS.EXPERIMENTAL_STABLEHLO_OPS]


CALIBRATED = (int8, int8_float_io, uint8, int8_per_tensor, int16, legacy_int8)
MANY: list[Callable[[Any], None]] = [float32, float16, dynamic, int8, int16, uint8]
FEW: list[Callable[[Any], None]] = [float32, dynamic, int8]
SOME_MORE: dict[str, list[Callable[[Any], None]]] = {
    "digits": [int8_per_tensor, int8_float_io, legacy_int8, sparse, stablehlo],
    "mobilenet_v1": [int8_per_tensor, int8_float_io, legacy_int8],
    "mobilenet_v2": [int8_per_tensor, int8_float_io, stablehlo],
    "resnet": [int8_per_tensor, stablehlo],
    "unet": [int8_per_tensor],
    "transformer": [int8_float_io, stablehlo],
    "activations": [stablehlo, sparse],
    "autoencoder": [sparse, stablehlo],
    "lstm": [int8_float_io, int16],
}


def ways_of(name: str) -> list[Callable[[Any], None]]:
    """Return the ways in which a model is converted."""
    if name in FUNCTIONS:
        more = [stablehlo] if name in ("arithmetic", "reducing", "products", "normalizing") else []
        more += (
            [dynamic, float16]
            if name in ("products", "streaming", "vocabulary", "any_image", "spectrogram")
            else []
        )
        more += (
            [int8] if name in ("quantize_by_hand", "normalizing", "boxes", "rearranging", "dilate") else []
        )
        if name in ("mfcc", "detection_custom"):
            return [custom]
        return [flex if name.endswith("_flex") or name == "complex_numbers" else float32, *more]
    vision = name in (
        "digits",
        "mobilenet_v1",
        "mobilenet_v2",
        "mobilenet_v3",
        "resnet",
        "unet",
        "keyword_spotting",
    )
    return (
        MANY if vision or name in ("transformer", "autoencoder", "audio_conv1d") else FEW
    ) + SOME_MORE.get(name, [])


def samples(inputs: list[Any]) -> Callable[[], Iterator[list[Any]]]:
    """Return a representative data set for these inputs."""

    def calibrate() -> Iterator[list[Any]]:
        rng = np.random.default_rng(1)
        for _ in range(8):
            yield [sample(rng, tensor) for tensor in inputs if tensor.dtype not in (tf.resource, tf.variant)]

    return calibrate


def sample(rng: Any, tensor: Any) -> Any:
    shape, kind = [n or 1 for n in tensor.shape], tf.as_dtype(tensor.dtype)
    made = rng.integers(0, 5, shape) if kind.is_integer else rng.uniform(-1, 1, shape)
    return np.asarray(made).astype(kind.as_numpy_dtype)


def make_sparse(weights: list[Any]) -> None:
    """Set blocks of four weights to zero, as pruning for the sparse kernels does."""
    for weight in weights:
        if len(weight.shape) == 2:
            keep = np.random.default_rng(3).random((weight.shape[0], -(-weight.shape[1] // 4))) < 0.3
            weight.assign(weight * np.repeat(keep, 4, 1)[:, : weight.shape[1]])


def convert(name: str, way: Callable[[Any], None]) -> bytes:
    if name in FUNCTIONS:
        owner, functions = FUNCTIONS[name]()
        converter = tf.lite.TFLiteConverter.from_concrete_functions(functions, owner)
        inputs = functions[0].inputs
    else:
        model, _ = KERAS[name]()
        if way is sparse:
            make_sparse(model.weights)
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
        inputs = model.inputs
    way(converter)
    if way in CALIBRATED:
        converter.representative_dataset = samples(inputs)
    made: bytes = converter.convert()
    return made


def folder_of(root: Path, name: str) -> Path:
    held_out = hashlib.sha256(f"generated {name}".encode()).digest()[0] % 3 == 0
    return root / "heldout" / "generated" if held_out else root / "generated"


def main() -> None:
    root, names = Path(sys.argv[1]), sys.argv[2:] or [*KERAS, *FUNCTIONS]
    release = "" if tf.__version__ == NEWEST else f"-tf{tf.__version__}"
    refused_at = root / "refused.json"
    refused = json.loads(refused_at.read_text()) if refused_at.exists() else {}
    for name in names:
        for way in ways_of(name):
            path = folder_of(root, name) / f"{name}-{way.__name__}{release}.tflite"
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() or path.stem in refused:
                continue
            refused[path.stem] = "the converter ended the process"
            refused_at.write_text(json.dumps(refused, indent=1))
            try:
                path.write_bytes(convert(name, way))
                del refused[path.stem]
            except Exception as error:
                refused[path.stem] = f"{type(error).__name__}: {error}"[:2000]
                print(path.stem, refused[path.stem][:200].replace("\n", " "), flush=True)
            refused_at.write_text(json.dumps(refused, indent=1))


if __name__ == "__main__":
    main()
