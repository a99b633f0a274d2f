"""Deprecated ops as the ops that replaced them."""

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.graph import Node

SUCCESSORS = {
    "BatchCholesky": "Cholesky",
    "BatchCholeskyGrad": "CholeskyGrad",
    "BatchMatrixBandPart": "MatrixBandPart",
    "BatchMatrixDeterminant": "MatrixDeterminant",
    "BatchMatrixDiag": "MatrixDiag",
    "BatchMatrixDiagPart": "MatrixDiagPart",
    "BatchMatrixInverse": "MatrixInverse",
    "BatchMatrixSetDiag": "MatrixSetDiag",
    "BatchMatrixSolve": "MatrixSolve",
    "BatchMatrixSolveLs": "MatrixSolveLs",
    "BatchMatrixTriangularSolve": "MatrixTriangularSolve",
    "BatchSelfAdjointEigV2": "SelfAdjointEigV2",
    "BatchSvd": "Svd",
    "BatchFFT": "FFT",
    "BatchFFT2D": "FFT2D",
    "BatchFFT3D": "FFT3D",
    "BatchIFFT": "IFFT",
    "BatchIFFT2D": "IFFT2D",
    "BatchIFFT3D": "IFFT3D",
    "PlaceholderV2": "Placeholder",
}


@rule(" ".join(SUCCESSORS), keeps=EXACT)
def under_its_later_name(op: NodeBuilder, n: Node) -> Replacement:
    """The op that replaced it does the same."""
    return op.node(SUCCESSORS[n.op], *n.inputs, **n.attrs)
