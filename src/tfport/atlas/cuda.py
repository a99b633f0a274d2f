"""CUDA: what the recorded builds say of it, the names of its libraries, and which GPUs run a build.

A build has machine code for some compute capabilities and PTX for others, which the
driver compiles when the program starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tfport.errors import Error

CUDA_LIBRARY = re.compile(
    r"lib(cudart|cudnn|cublas\w*|cufft|curand|cusolver|cusparse|nccl|cupti|nvinfer\w*|cuda)\.so\.?([\d.]*)"
)
ONE_FOR_ALL_MINORS = 11
"""Since CUDA 11, one libcudart serves all minor versions of a major version."""


def cuda_of(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a build about CUDA."""
    return facts.get("cuda") or {}


# Compute capabilities of GPUs.

GPUS = {
    "k80": "3.7", "m60": "5.2", "p4": "6.1", "p40": "6.1", "p100": "6.0", "v100": "7.0", "t4": "7.5",
    "a100": "8.0", "a30": "8.0", "a10": "8.6", "a40": "8.6", "l4": "8.9", "l40": "8.9", "l40s": "8.9",
    "h100": "9.0", "h200": "9.0", "gh200": "9.0", "b100": "10.0", "b200": "10.0",
}  # fmt: skip
"""Compute capabilities of server GPUs, as listed by NVIDIA."""


def capability_of(gpu: str) -> str:
    """Return the compute capability that a text names: `9.0`, `sm_90`, `H100`."""
    name = gpu.strip().lower().removeprefix("nvidia").strip(" -_")
    if name in GPUS:
        return GPUS[name]
    digits = name.removeprefix("sm_").removeprefix("compute_")
    if digits.isascii() and digits.isdecimal() and len(digits) in (2, 3):
        digits = f"{digits[:-1]}.{digits[-1]}"
    major, dot, minor = digits.partition(".")
    if dot and major.isascii() and major.isdecimal() and minor.isascii() and minor.isdecimal():
        return f"{int(major)}.{int(minor)}"
    raise Error(
        f"unknown GPU `{gpu}`; expected a compute capability such as 9.0, or one of {', '.join(GPUS)}"
    )


def major_minor(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor or 0)


def runs_natively(codes: Iterable[str], capability: str) -> bool:
    """Whether machine code runs on a capability: the same major version, and no higher minor version."""
    major, minor = major_minor(capability)
    return any(m == major and n <= minor for m, n in map(major_minor, codes))


def compiles(ptx: Iterable[str], capability: str) -> bool:
    """Whether PTX can be compiled for a capability: it must not be lower than that of the PTX."""
    return any(major_minor(code) <= major_minor(capability) for code in ptx)
