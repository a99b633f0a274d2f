"""The models and requests of the server benchmark, made once in `.cache/`.

python serve_models.py dense PATH

A model may also be the folder of a SavedModel with one input of float32; it is copied to `.cache/`.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from tfport import load
from tfport.formats.proto import serving_pb2 as pb

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench-serve"
RUNTIME_MODELS = HERE.parent / ".cache" / "bench-runtime"
MODELS = ("dense", "mobilenet_v2")


@dataclass(frozen=True)
class BenchModel:
    """A model, and one request in every format."""

    name: str
    path: Path
    inputs: Path
    """For the session: an .npz file."""
    rest: Path
    grpc: Path


def bench_model(name: str) -> BenchModel:
    """Return a model with its requests."""
    path = _copied(Path(name)) if Path(name).is_dir() else _made(name)
    name = path.name
    folder = CACHE / f"{name}_requests"
    folder.mkdir(parents=True, exist_ok=True)
    bench = BenchModel(name, path, path / "inputs_1.npz", folder / "request.json", folder / "request.pb")
    ((key, array),) = np.load(bench.inputs).items()
    body = orjson.dumps({"instances": array}, option=orjson.OPT_SERIALIZE_NUMPY)
    bench.rest.write_bytes(body)
    bench.grpc.write_bytes(predict_request(name, key, array))
    return bench


def _made(name: str) -> Path:
    path, maker = (
        (CACHE / name, __file__) if name == "dense" else (RUNTIME_MODELS / name, "runtime_models.py")
    )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, HERE / maker, name, path], check=True, capture_output=True)
    return path


def _copied(folder: Path) -> Path:
    path = CACHE / folder.name
    if not path.exists():
        shutil.copytree(folder, path)
        ((name, spec),) = load(folder).signatures["serving_default"].inputs.items()
        shape = [size or 1 for size in spec.shape.dims or ()]
        np.savez(f"{path}/inputs_1.npz", **{name: np.random.default_rng(0).random(shape, np.float32)})
    return path


def predict_request(name: str, key: str, array: np.ndarray, version: int = 0) -> bytes:
    """Return a serialized gRPC request; 0 is the newest version."""
    request = pb.PredictRequest()
    request.model_spec.name = name
    if version:
        request.model_spec.version.value = version
    tensor = request.inputs[key]
    tensor.dtype = 1
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = array.tobytes()
    return request.SerializeToString()


def dense(path: str) -> None:
    """Make a model with 32 inputs, 64 hidden units and 10 classes."""
    import keras
    from keras import layers

    x = keras.Input((32,), name="x")
    y = layers.Dense(10, activation="softmax")(layers.Dense(64, activation="relu")(x))
    keras.Model(x, y).export(path, verbose=False)
    np.savez(f"{path}/inputs_1.npz", x=np.random.default_rng(0).random((1, 32), np.float32))


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
