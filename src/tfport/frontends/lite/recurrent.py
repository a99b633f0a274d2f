"""What recurrent operators share: sequences in the order of time, weights of all gates, options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import is_hybrid, real_weights, rounded_rows
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Value
from tfport.startup.dataclass import dataclass


def over_time(b: OperatorBuilder, x: Any, *, time_major: bool) -> Value:
    """A sequence (time, batch, …) of one (batch, time, …), and the other way round."""
    return b.value(x) if time_major else b.Transpose(x, [1, 0, 2]).output(0)


def backward(b: OperatorBuilder, x: Any) -> Value:
    """A sequence from its end to its start."""
    return b.ReverseV2(x, [0]).output(0)


def real(b: OperatorBuilder, x: LiteValue, weights: LiteValue) -> Any:
    """Weights as real numbers."""
    return real_weights(b, weights) if is_hybrid(x, weights) else weights


def rounding(x: LiteValue, weights: LiteValue, *, asymmetric: bool) -> str:
    """How the activations of a step are rounded: not at all unless the weights are integers."""
    if not is_hybrid(x, weights):
        return ""
    return "asymmetric" if asymmetric else "symmetric"


def rounded(b: OperatorBuilder, sequence: Value, how: str) -> Value:
    """A sequence, each row of each step rounded if the weights are integers."""
    return rounded_rows(b, sequence, asymmetric=how == "asymmetric", axis=2) if how else sequence


def stacked(b: OperatorBuilder, parts: Sequence[Any]) -> Value:
    """The weights of all gates in one matrix or vector."""
    return b.ConcatV2(list(parts), 0).output(0)


def nothing(b: OperatorBuilder) -> Value:
    """Stands for weights that an operator leaves out."""
    return b.Fill([0], 0.0).output(0)


# Options, for real numbers and integers


@dataclass(frozen=True, slots=True)
class LstmOptions:
    """How the cell of an LSTM layer computes."""

    fused_activation_function: str
    cell_clip: float
    proj_clip: float
    asymmetric_quantize_inputs: bool

    @property
    def attrs(self) -> dict[str, Any]:
        """As attributes of `LiteLstm`."""
        return {
            "activation": self.fused_activation_function,
            "cell_clip": self.cell_clip,
            "projection_clip": self.proj_clip,
        }


@dataclass(frozen=True, slots=True)
class SvdfOptions:
    """How an SVDF layer sums and activates the results of its filters."""

    rank: int
    fused_activation_function: str
    asymmetric_quantize_inputs: bool
