"""How a session computes on a GPU."""

from __future__ import annotations

from tfport.errors import Error
from tfport.startup.dataclass import dataclass

TF32, FLOAT32, FLOAT16, BFLOAT16 = "tf32", "float32", "float16", "bfloat16"
PRECISIONS = (TF32, FLOAT32, FLOAT16, BFLOAT16)
MAX_GRAPHS = 16
"""Shapes for which an island has a CUDA graph; each keeps its inputs and outputs in device memory."""
HALVES = (FLOAT16, BFLOAT16)


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """What the user chose for a GPU."""

    precision: str = TF32
    """`tf32`: products of float32 with 10 bits of mantissa, as TensorFlow computes; `float32`: with all bits;
    `float16` and `bfloat16`: weights and products in 16 bits, sums and normalization in float32."""
    memory_bytes: int = 0
    """Device memory for each session of ONNX Runtime; 0 means no limit."""
    max_graphs: int = MAX_GRAPHS
    """CUDA graphs of an island; 0 for none."""
    require: bool = False
    """Whether a GPU that cannot be used is an error; otherwise the CPU is used, with a warning."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise Error(f"unknown precision `{self.precision}`; expected one of: {', '.join(PRECISIONS)}")

    @property
    def half(self) -> str | None:
        """The type of 16 bits to compute in, if any."""
        return self.precision if self.precision in HALVES else None


NO_GPU_OPTIONS = GpuOptions()
