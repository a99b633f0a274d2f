"""What the recorded builds say of CUDA, and the names of its libraries."""

from __future__ import annotations

import re
from typing import Any

CUDA_LIBRARY = re.compile(
    r"lib(cudart|cudnn|cublas\w*|cufft|curand|cusolver|cusparse|nccl|cupti|nvinfer\w*|cuda)\.so\.?([\d.]*)"
)
ONE_FOR_ALL_MINORS = 11
"""Since CUDA 11, one libcudart serves all minor versions of a major version."""


def cuda_of(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a build about CUDA."""
    return facts.get("cuda") or {}
