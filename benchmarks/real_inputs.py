"""The models of `make bench-real` and their inputs: realistic sizes, batch 1.

Every model that `tools/real_models.py` downloads takes part, unless `real_inputs.toml` says why not.
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

import real_models  # noqa: E402
import tfport  # noqa: E402
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

    def inputs(self, signature: Signature) -> dict[str, Any]:
        """An array for each tensor that is fed."""
        rows, rng = self.row.get("inputs", {}), np.random.default_rng(0)
        return {
            spec.tensors[0]: _array(spec, rows.get(name, {}), rng) for name, spec in signature.inputs.items()
        }


def real_model_list(chosen: list[str]) -> Iterator[RealModel]:
    """The models whose name contains one of the chosen words; all without any."""
    rows = {row.pop("model"): row for row in tomllib.loads(DATA.read_text())["model"]}
    for package in real_models.packages():
        for kind, path in package.models:
            name = f"{package.name}-{package.version}/{path}"
            row = next((row for key, row in rows.items() if name.startswith(key)), {})
            wanted = not chosen or any(word in name for word in chosen)
            if wanted and kind != "checkpoint" and "skip" not in row:
                yield RealModel(name, kind, package.folder / path, row)


def _array(spec: TensorSpec, row: dict[str, Any], rng: np.random.Generator) -> Any:
    if "value" in row:
        value = row["value"]
        return np.array(value.encode() if isinstance(value, str) else value, spec.dtype.numpy)
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
    other = DEFAULT_SIZES.get(len(dims), 1)
    return [d if d is not None else 1 if i == 0 else other for i, d in enumerate(dims)]


def load(model: RealModel) -> Model:
    return tfport.load(str(model.path))
