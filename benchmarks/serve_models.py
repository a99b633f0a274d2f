"""The models of the server's benchmark and what is asked of them, made once in `.cache/`.

python serve_models.py dense PATH
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from tfport.formats.proto import serving_pb2 as pb

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench-serve"
MOBILENET = HERE.parent / ".cache" / "bench-runtime" / "mobilenet_v2"
MODELS = ("dense", "mobilenet_v2")


@dataclass(frozen=True)
class Asked:
    """One model, and one request of it in every form."""

    name: str
    model: Path
    inputs: Path
    """For the session: an .npz file."""
    rest: Path
    grpc: Path


def asked(name: str) -> Asked:
    """A model with its requests."""
    model = _made(name)
    folder = CACHE / f"{name}_requests"
    folder.mkdir(parents=True, exist_ok=True)
    found = Asked(name, model, model / "inputs_1.npz", folder / "request.json", folder / "request.pb")
    ((key, array),) = np.load(found.inputs).items()
    body = orjson.dumps({"instances": array}, option=orjson.OPT_SERIALIZE_NUMPY)
    found.rest.write_bytes(body)
    found.grpc.write_bytes(_predict(name, key, array))
    return found


def _made(name: str) -> Path:
    path, maker = (MOBILENET, "runtime_models.py") if name == "mobilenet_v2" else (CACHE / name, __file__)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, HERE / maker, name, path], check=True, capture_output=True)
    return path


def _predict(name: str, key: str, array: np.ndarray) -> bytes:
    request = pb.PredictRequest()
    request.model_spec.name = name
    tensor = request.inputs[key]
    tensor.dtype = 1
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = array.tobytes()
    return request.SerializeToString()


def dense(path: str) -> None:
    """32 numbers through 64 units to 10 classes."""
    import keras
    from keras import layers

    x = keras.Input((32,), name="x")
    y = layers.Dense(10, activation="softmax")(layers.Dense(64, activation="relu")(x))
    keras.Model(x, y).export(path, verbose=False)
    np.savez(f"{path}/inputs_1.npz", x=np.random.default_rng(0).random((1, 32), np.float32))


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
