"""The options that operators for LSTM layers share, and those of SVDF: for real numbers and integers."""

from __future__ import annotations

from typing import Any

from tfport.startup.dataclass import dataclass


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
