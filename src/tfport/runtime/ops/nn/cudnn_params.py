"""The one vector in which cuDNN keeps all weights of its recurrent layers.

Layer after layer (and direction after direction) stand the matrices that multiply the
input, gate by gate, then those that multiply the output before, each (units, inputs);
behind all matrices come the biases in the same order, two for each gate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}


@dataclass(frozen=True)
class Form:
    """How many layers of which kind."""

    mode: str
    layers: int
    directions: int
    units: int
    inputs: int
    skips: bool
    """Whether the first layer takes its input as it is, without matrices of its own."""

    @classmethod
    def of(cls, mode: str, input_mode: str, direction: str, layers: int, units: int, inputs: int) -> Form:
        directions = 2 if direction == "bidirectional" else 1
        skips = input_mode == "skip_input" or (input_mode == "auto_select" and inputs == units)
        if skips and inputs != units:
            raise CannotRun(f"skip_input with {inputs} inputs and {units} units")
        return cls(mode, layers, directions, units, inputs, skips)

    @property
    def gates(self) -> int:
        return GATES[self.mode]

    def matrices(self) -> Iterator[tuple[int, int]]:
        """The shape of each matrix, in order; the first layer may have none for its input."""
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
        """All matrices and all biases of a vector."""
        flat, at = np.asarray(params).reshape(-1), 0
        if flat.size != self.size:
            raise ValueError(f"expected {self.size} weights, found {flat.size}")
        matrices = []
        for rows, columns in self.matrices():
            matrices.append(flat[at : at + rows * columns].reshape(rows, columns))
            at += rows * columns
        return matrices, list(flat[at:].reshape(self.biases, self.units))

    def layer_parts(self, params: NDArray[Any]) -> Iterator[list[tuple[Any, Any, Any, Any]]]:
        """For each layer, and in it for each direction: input and recurrent matrices, and their biases.

        Matrices are (gates * units, inputs), biases (gates * units); of a layer that skips, an identity.
        """
        matrices, biases = self.parts(params)
        several = 2 * self.gates
        for layer in range(self.layers):
            found = []
            for direction in range(self.directions):
                at = (layer * self.directions + direction) * several
                mine, own = matrices[at : at + several], biases[at : at + several]
                if layer == 0 and self.skips:
                    mine = [np.eye(self.units, dtype=own[0].dtype)] * self.gates + mine[self.gates :]
                found.append(
                    (
                        np.concatenate(mine[: self.gates]),
                        np.concatenate(mine[self.gates :]),
                        np.concatenate(own[: self.gates]),
                        np.concatenate(own[self.gates :]),
                    )
                )
            yield found
