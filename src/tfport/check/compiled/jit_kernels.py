"""Which ops XLA compiles, by release: the kernels that are registered for its JIT devices.

A release registers them when it first compiles something, so they are not among the kernels of the atlas.
Recorded by tools/atlas/jit_kernels.py: those of the CPU from the wheels for ARM64, those of the GPU from 2.21
for x86-64, whose kernels for the CPU are the same as on ARM64.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tfport.atlas.target import Target
from tfport.check.devices import CPU, GPU
from tfport.graph.dtypes import DType
from tfport.registry.kernels import Kernel

JIT_DEVICES = {CPU: "XLA_CPU_JIT", GPU: "XLA_GPU_JIT"}
JitKernels = Mapping[str, Sequence[Kernel]]
"""Kernels by op."""


def jit_kernels(target: Target, kind: str) -> JitKernels | None:
    """The kernels that a target has for compiling for this kind of device; None if they were not recorded."""
    if target.kind != "tensorflow" or target.build is None:
        return None
    release = _recorded_release(target.build.version)
    return _kernels(release, JIT_DEVICES[kind]) if release else None


def newest_jit_kernels(kind: str) -> JitKernels:
    """Those of the newest release that was recorded."""
    recorded = [r for r, devices in _record()["releases"].items() if JIT_DEVICES[kind] in devices]
    kernels = _kernels(max(recorded, key=_minor), JIT_DEVICES[kind])
    assert kernels is not None
    return kernels


def kernels_by_release(device: str) -> dict[str, JitKernels]:
    """The kernels for a JIT device, by recorded release."""
    by_release = {release: _kernels(release, device) for release in _record()["releases"]}
    return {release: kernels for release, kernels in by_release.items() if kernels is not None}


def releases_compiling(op: str, device: str) -> list[str] | None:
    """The recorded releases that have a kernel of an op for a JIT device; None if none is recorded."""
    recorded = kernels_by_release(device)
    return [release for release, kernels in recorded.items() if op in kernels] if recorded else None


def _recorded_release(version: str) -> str | None:
    """The recorded release of the same minor version."""
    return next((r for r in _record()["releases"] if _minor(r) == _minor(version)), None)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


@functools.cache
def _kernels(release: str, device: str) -> JitKernels | None:
    record = _record()
    numbers = record["releases"][release].get(device)
    if numbers is None:
        return None
    kernels: dict[str, list[Kernel]] = {}
    for op, types in (record["kernels"][number] for number in numbers):
        allowed = {name: tuple(map(DType.parse, names)) for name, names in types.items()}
        kernels.setdefault(op, []).append(Kernel(op, device, allowed))
    return kernels


@functools.cache
def _record() -> dict[str, Any]:
    import lzma  # here, as few models have such functions

    with lzma.open(os.path.join(os.path.dirname(__file__), "jit_kernels.json.xz")) as file:
        record: dict[str, Any] = json.load(file)
    return record
