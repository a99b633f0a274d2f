"""What an integer LSTM layer does with a gate before its activation: peephole and normalization.

Gates are int64 arrays (batch, cells) of 16-bit numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import inverse_sqrt, rescale, to_int32
from tfport.startup.dataclass import dataclass

SMALLEST, LARGEST = -32768, 32767
EXTRA = 1024
"""The factor by which normalized numbers are finer than the gate."""


@dataclass(frozen=True, slots=True)
class Peephole:
    """The weights with which the cell takes part in a gate."""

    weights: Any
    width: int
    """The outputs of the layer: the kernel multiplies as many numbers for each of the batch."""
    is_flat: bool
    """Whether the rows of a batch follow each other in steps of that width, also in a wider cell."""
    multiplier: int
    shift: int

    def added(self, gate: Any, cell: Any) -> Any:
        """The gate with the products of the cell."""
        result = gate.copy()
        shape = (1, -1) if self.is_flat else gate.shape
        part, other = result.reshape(shape), cell.reshape(shape)
        count = len(gate) * self.width if self.is_flat else self.width
        products = np.tile(self.weights[: self.width], count // self.width) * other[:, :count]
        sums = part[:, :count] + rescale(products, self.multiplier, self.shift)
        part[:, :count] = np.clip(sums, SMALLEST, LARGEST)
        return result


@dataclass(frozen=True, slots=True)
class CellNorm:
    """The weights with which a gate is normalized over its cells."""

    weights: Any
    bias: Any
    multiplier: int
    shift: int
    guard: int
    """What takes the place of a variance of zero."""

    def applied(self, gate: Any) -> Any:
        """The gate, normalized, in steps of 1/4096."""
        return np.stack([self._row(row) for row in gate])

    def _row(self, row: Any) -> Any:
        count = len(row)
        mean = _quotient(int(row.sum()) * EXTRA, count)
        squares = int((row * row).sum()) * (EXTRA * EXTRA // count)
        variance = _quotient(squares - mean * mean, EXTRA * EXTRA)
        factor, exponent = inverse_sqrt(variance if variance >= 1 else self.guard)
        rescaled = rescale(EXTRA * row - mean, factor, exponent)
        scaled = to_int32(rescaled * self.weights + self.bias)
        rounded = np.trunc((scaled + np.where(scaled > 0, EXTRA // 2, -EXTRA // 2)) / EXTRA).astype(np.int64)
        return np.clip(rescale(rounded, self.multiplier, self.shift + 12), SMALLEST, LARGEST)


def _quotient(x: int, y: int) -> int:
    """A quotient without its fraction, as in C."""
    return x // y if x >= 0 else -(-x // y)
