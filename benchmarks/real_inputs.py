"""The models of `make bench-real` and their inputs: realistic sizes, batch 1.

Every model that `tools/real_models.py` downloads or `real_generated.py` writes takes part, unless
`real_inputs.toml` says why not.
The table also gives sizes and values where the defaults are not what a user of the model would feed.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "tools"), str(HERE.parent)]

from real_generated import generated_models  # noqa: E402

import real_models  # noqa: E402
import tfport  # noqa: E402
from tfport.formats.proto.serving_pb2 import Example  # noqa: E402
from tfport.graph.model import Model, Signature, TensorSpec  # noqa: E402
from tfport.runtime.select_signature import select_signature  # noqa: E402

DATA = HERE / "real_inputs.toml"
DEFAULT_SIZES = {2: 64, 3: 100, 4: 256, 5: 48}
"""The size of an unknown axis after the first, by rank: features, steps, pixels, voxels."""
MAIN = "serving_default"


@dataclass(frozen=True)
class RealModel:
    """A model, and what `real_inputs.toml` says about it."""

    name: str
    kind: str
    path: Path
    row: dict[str, Any] = field(default_factory=dict)

    def signature(self, model: Model) -> Signature:
        name = self.row.get("signature", MAIN if MAIN in model.signatures else None)
        return select_signature(model, name)

    def inputs(self, model: Model, signature: Signature) -> dict[str, Any]:
        """An array for each tensor that is fed; for each placeholder if the signature names no inputs."""
        rows, rng = self.row.get("inputs", {}), np.random.default_rng(0)
        arrays: dict[str, Any] = {}
        for name, spec in (signature.inputs or _placeholders(model)).items():
            array = _array(spec, rows.get(name, {}), rng)
            parts = [array] if len(spec.tensors) == 1 else _sparse(array)
            arrays.update(zip(spec.tensors, parts, strict=True))
        return arrays


def real_model_list(chosen: list[str], packages: Path | None = None) -> Iterator[RealModel]:
    """The models whose name contains one of the chosen words; all without any.

    `packages`: another list of packages than that of `tools/real_models.py`.
    """
    rows = {row.pop("model"): row for row in tomllib.loads(DATA.read_text())["model"]}
    for name, kind, path in _all_models(packages):
        row = next((row for key, row in rows.items() if name.startswith(key)), {})
        wanted = not chosen or any(word in name for word in chosen)
        if wanted and kind != "checkpoint" and "skip" not in row:
            yield RealModel(name, kind, path, row)


def _all_models(packages: Path | None) -> Iterator[tuple[str, str, Path]]:
    for package in real_models.packages(packages or real_models.DATA):
        for kind, path in package.models:
            yield f"{package.name}-{package.version}/{path}", kind, package.folder / path
    if packages is not None:
        return
    for name, folder in generated_models():
        yield name, "saved_model", folder


def _placeholders(model: Model) -> dict[str, TensorSpec]:
    return {
        node.name: TensorSpec((f"{node.name}:0",), node.output(0).dtype, node.output(0).shape)
        for node in model.graph
        if node.op == "Placeholder"
    }


def _sparse(array: Any) -> list[Any]:
    """The values, indices and shape of a sparse tensor with all elements of an array."""
    indices = np.argwhere(np.ones(array.shape, bool))
    return [array.reshape(-1), indices.astype(np.int64), np.array(array.shape, np.int64)]


def _example(features: dict[str, Any]) -> bytes:
    """A serialized Example with a number or text for each feature."""
    example = Example()
    for name, value in features.items():
        feature = example.features.feature[name]
        if isinstance(value, str):
            feature.bytes_list.value.append(value.encode())
        elif isinstance(value, float):
            feature.float_list.value.append(value)
        else:
            feature.int64_list.value.append(value)
    return example.SerializeToString()


def _array(spec: TensorSpec, row: dict[str, Any], rng: np.random.Generator) -> Any:
    if "value" in row:
        value = row["value"]
        return np.array(value.encode() if isinstance(value, str) else value, spec.dtype.numpy)
    if "example" in row:
        return np.array([_example(row["example"])], object)
    shape = row.get("shape") or _default_shape(spec)
    if spec.dtype.name == "string":
        return np.full(shape, row.get("text", "").encode(), object)
    if spec.dtype.name == "bool":
        return np.zeros(shape, bool)
    low, high = row.get("low", 0), row.get("high", 2 if spec.dtype.is_integer else 1)
    if spec.dtype.is_integer:
        return rng.integers(low, high, shape).astype(spec.dtype.numpy)
    return (low + (high - low) * rng.random(shape)).astype(spec.dtype.numpy)


def _default_shape(spec: TensorSpec) -> list[int]:
    dims = spec.shape.dims or ()
    other = DEFAULT_SIZES.get(len(dims), 1) if len(spec.tensors) == 1 else 1
    return [d if d is not None else 1 if i == 0 else other for i, d in enumerate(dims)]


def load(model: RealModel) -> Model:
    return tfport.load(str(model.path))
