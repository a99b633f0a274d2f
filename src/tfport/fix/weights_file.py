"""Write the weights of a model alone: safetensors, NumPy's `.npz` or HDF5, with the names of the model.

The layout of `torch` (`torch_layout`) has the axes and gates as the modules of PyTorch expect them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.extras import optional_module
from tfport.fix.torch_layout import KERNELS, in_torch_layout
from tfport.formats.output import new_path
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.frontends.keras.instance import OwnedWeight
from tfport.frontends.keras.saved_model import owned_weights
from tfport.frontends.model_weights import ModelWeight, model_weights
from tfport.graph.graph import Node, Value
from tfport.graph.model import Model
from tfport.graph.reach import needed_by
from tfport.graph.state import variables
from tfport.graph.value_readers import pass_through_outputs, readings
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

OBJECT_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
TORCH = "torch"
NO_NAME = re.compile(r"Variable(_\d+)?")
"""A variable that nobody named."""


@dataclass(frozen=True, slots=True)
class NamedWeight:
    """One array of the file."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]
    readers: frozenset[str] = frozenset()
    """The ops that read it as a kernel."""
    owned: OwnedWeight | None = None
    """The layers of Keras that it is in, where there are layers."""

    def array(self, layout: str) -> NDArray[Any]:
        """The elements in a layout."""
        array = self.read()
        return in_torch_layout(array, self.owned, self.readers) if layout == TORCH else array


def write_weights(model: Model, path: str | os.PathLike[str], layout: str) -> list[NamedWeight]:
    """Write the weights to a new file; the suffix decides the format."""
    weights = weights_of(model)
    if not weights:
        raise Error(f"{model.where}: has no weights")
    write = {".safetensors": _safetensors, ".npz": _npz}.get(Path(path).suffix, _hdf5)
    with new_path(path) as file:
        write(file, {weight.name: weight for weight in weights}, layout)
    return weights


def weights_of(model: Model) -> list[NamedWeight]:
    """The weights of a model with unique names, in the order of the model."""
    weights = (
        _variables(model)
        if model.checkpoint is not None
        else chain.from_iterable(map(_named, model_weights(model)))
    )
    unique: dict[str, NamedWeight] = {}
    for weight in weights:
        name, number = weight.name, 0
        while name in unique:
            number += 1
            name = f"{weight.name}_{number}"
        unique[name] = replace(weight, name=name)
    return list(unique.values())


def _named(weight: ModelWeight) -> Iterator[NamedWeight]:
    readers = _readers(weight.node) if weight.node is not None else weight.readers
    yield NamedWeight(weight.name, weight.shape, weight.read, readers, weight.owned)
    if weight.scale:  # integers that stand for `scale * (integer - zero_point)`
        scale, zero_point = np.array(weight.scale, np.float32), np.array(weight.zero_point, np.int64)
        yield NamedWeight(f"{weight.name}/scale", scale.shape, scale.copy)
        yield NamedWeight(f"{weight.name}/zero_point", zero_point.shape, zero_point.copy)


def _variables(model: Model) -> Iterator[NamedWeight]:
    """The numbers of a checkpoint, with the names of the variables that they initialize.

    Of a model with signatures, those that the signatures need: not the state of an optimizer.
    """
    by_key = {variable.key: variable for variable in variables(model) if not variable.slice}
    ends = [value.node for signature in model.signatures.values() for value in model.ends_of(signature)]
    needed = needed_by(ends)
    owned = owned_weights(model) if model.format is SAVED_MODEL else {}
    for weight in model_weights(model):
        variable, name = by_key.get(weight.name), weight.name.removesuffix(OBJECT_SUFFIX)
        if ends and (variable is None or variable.node not in needed):
            continue
        if variable is not None and not NO_NAME.fullmatch(variable.name):
            name = variable.name
        readers = _readers(variable.node) if variable is not None else frozenset()
        yield NamedWeight(name, weight.shape, weight.read, readers, owned.get(weight.name))


def _readers(node: Node) -> frozenset[str]:
    """The ops that read a weight as their kernel; a product with it transposed has the axes of PyTorch."""
    kernels = {op for op, _ in KERNELS}
    ops = set()
    for reading in readings(node.output(0), _with_reads):
        if reading.node.op in kernels and reading.index == 1:
            ops.add(f"{reading.node.op}{' transposed' * bool(reading.node.attrs.get('transpose_b'))}")
    return frozenset(ops)


def _with_reads(node: Node, index: int) -> list[Value]:
    return node.outputs if node.op == "ReadVariableOp" else pass_through_outputs(node, index)


# Files


def _npz(path: Path, weights: Mapping[str, NamedWeight], layout: str) -> None:
    with path.open("wb") as file:
        arrays: dict[str, Any] = {name: _plain(weight.array(layout)) for name, weight in weights.items()}
        np.savez(file, **arrays)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """An array of a type of NumPy: float32 holds all numbers of bfloat16 and of the float8 types."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def _safetensors(path: Path, weights: Mapping[str, NamedWeight], layout: str) -> None:
    safetensors = optional_module("safetensors.numpy", "writing .safetensors files")
    arrays = {name: np.ascontiguousarray(weight.array(layout)) for name, weight in weights.items()}
    safetensors.save_file(arrays, path, metadata={"format": "pt" if layout == TORCH else "np"})


def _hdf5(path: Path, weights: Mapping[str, NamedWeight], layout: str) -> None:
    h5py = optional_module("h5py", "writing HDF5 files")
    with h5py.File(path, "w") as file:
        for name, weight in weights.items():
            try:
                file.create_dataset(name, data=_plain(weight.array(layout)))
            except ValueError as error:
                raise Error(f"{path.name}: `{name}` cannot be a dataset of HDF5: {error}") from None
