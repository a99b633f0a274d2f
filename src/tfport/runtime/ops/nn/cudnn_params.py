"""The layout of cuDNN's weight vector, which holds all weights of a stack of recurrent layers.

For each layer and direction, the vector has the input matrices gate by gate, then the recurrent
matrices gate by gate, each of shape (units, inputs). After all matrices come the biases in the
same order, two for each gate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}


@dataclass(frozen=True)
class CudnnRnnConfig:
    """Cell type, number and sizes of a stack of recurrent layers."""

    mode: str
    layers: int
    directions: int
    units: int
    inputs: int
    skips: bool
    """Whether the first layer has no input matrices (`skip_input`)."""

    @classmethod
    def of(
        cls, mode: str, input_mode: str, direction: str, layers: int, units: int, inputs: int
    ) -> CudnnRnnConfig:
        """The configuration that an op's attributes and sizes describe."""
        directions = 2 if direction == "bidirectional" else 1
        skips = input_mode == "skip_input" or (input_mode == "auto_select" and inputs == units)
        if skips and inputs != units:
            raise CannotRun(
                f"skip_input: the input size must be {units}, the number of units, found {inputs}"
            )
        return cls(mode, layers, directions, units, inputs, skips)

    @property
    def gates(self) -> int:
        return GATES[self.mode]

    def matrices(self) -> Iterator[tuple[int, int]]:
        """The shape of each matrix, in order; (0, 0) for input matrices that `skip_input` omits."""
        for layer in range(self.layers):
            width = self.inputs if layer == 0 else self.units * self.directions
            for _ in range(self.directions):
                for _ in range(self.gates):
                    yield (0, 0) if layer == 0 and self.skips else (self.units, width)
                for _ in range(self.gates):
                    yield self.units, self.units

    @property
    def biases(self) -> int:
        return 2 * self.gates * self.directions * self.layers

    @property
    def size(self) -> int:
        return sum(a * b for a, b in self.matrices()) + self.biases * self.units

    def parts(self, params: NDArray[Any]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Split a weight vector into its matrices and biases."""
        flat, offset = np.asarray(params).reshape(-1), 0
        if flat.size != self.size:
            raise ValueError(f"expected {self.size} weights, found {flat.size}")
        matrices = []
        for rows, columns in self.matrices():
            matrices.append(flat[offset : offset + rows * columns].reshape(rows, columns))
            offset += rows * columns
        return matrices, list(flat[offset:].reshape(self.biases, self.units))

    def layer_parts(self, params: NDArray[Any]) -> Iterator[list[tuple[Any, Any, Any, Any]]]:
        """Yield each layer as a list with one entry per direction.

        An entry has the input and recurrent matrices, of shape (gates * units, inputs), and their
        biases, of shape (gates * units,). With `skip_input`, the input matrices are identities.
        """
        matrices, biases = self.parts(params)
        step = 2 * self.gates
        for layer in range(self.layers):
            directions = []
            for direction in range(self.directions):
                start = (layer * self.directions + direction) * step
                w, b = matrices[start : start + step], biases[start : start + step]
                if layer == 0 and self.skips:
                    w = [np.eye(self.units, dtype=b[0].dtype)] * self.gates + w[self.gates :]
                directions.append(
                    (
                        np.concatenate(w[: self.gates]),
                        np.concatenate(w[self.gates :]),
                        np.concatenate(b[: self.gates]),
                        np.concatenate(b[self.gates :]),
                    )
                )
            yield directions
