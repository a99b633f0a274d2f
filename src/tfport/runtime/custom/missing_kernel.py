"""Explain why none of the kernels of a custom op runs a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.atlas.kernel_history import kernel_text, merged
from tfport.graph.attrs import Attr
from tfport.graph.usage import LABEL
from tfport.runtime.custom.custom_kernel import CPU, CustomKernel
from tfport.runtime.lower import Implementation


def why_missing(declared: Sequence[Implementation], attrs: Mapping[str, Attr], why: str) -> str:
    """Why no kernel of an op runs a node with these attributes; `why` says why it is not lowered."""
    kernels = [kernel.as_kernel() for kernel in declared if isinstance(kernel, CustomKernel)]
    on_cpu = [kernel for kernel in kernels if kernel.device == CPU]
    if not kernels:
        return "the op is defined but has no kernel"
    if not on_cpu:
        devices = " and ".join(sorted({kernel.device for kernel in kernels}))
        return f"its kernels are for {devices}, but tfport runs on CPU"
    if any(kernel.takes(attrs) for kernel in declared):
        return f"it cannot be lowered to ONNX and has no host kernel ({why})"
    supported = " or ".join(kernel_text(kernel) for kernel in merged(on_cpu))
    names = dict.fromkeys(name for kernel in on_cpu for name in kernel.constraints)
    requested = [f"{name}={attrs.get(name)}" for name in names]
    requested += [f"label {attrs[LABEL]}"] if LABEL in attrs else []
    return (
        f"no kernel for {', '.join(requested) or 'a node without a label'}; its kernels are for {supported}"
    )
