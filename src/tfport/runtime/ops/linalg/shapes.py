"""Output shapes of linear algebra host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.shapes import Shapes


@shapes("BatchMatrixBandPart BatchMatrixSetDiag MatrixBandPart MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3")
def same(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape]
