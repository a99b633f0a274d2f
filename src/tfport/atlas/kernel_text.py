"""Kernels in words: what each is for, and many of them in few."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tfport.atlas.op_definitions import value_text
from tfport.registry.kernels import Kernel


def kernel_text(kernel: Kernel, between: str = "; ") -> str:
    """What a kernel is for: `T=float32, int32; Tidx=int32`; `any` where nothing is asked for."""
    shown = [f"{name}={', '.join(map(value_text, values))}" for name, values in kernel.constraints.items()]
    shown += [f"label={kernel.label}"] if kernel.label else []
    return between.join(shown) or "any"


def kernel_key(kernel: Kernel) -> tuple[object, ...]:
    """What tells a kernel from the others of its op."""
    return kernel.device, kernel.label, tuple(sorted(kernel.constraints.items()))


def merged(kernels: Iterable[Kernel]) -> list[Kernel]:
    """As few kernels that are for exactly the same: `T=float32` and `T=int32` are one for both."""
    found = list(kernels)
    for name in dict.fromkeys(name for kernel in reversed(found) for name in reversed(kernel.constraints)):
        groups: dict[tuple[object, ...], list[Kernel]] = {}
        for kernel in found:
            groups.setdefault(_apart_from(name)(kernel), []).append(kernel)
        found = [_union(name, group) for group in groups.values()]
    return found


def _apart_from(name: str) -> Callable[[Kernel], tuple[object, ...]]:
    """The key of a kernel in which one attribute does not count, unless it has none of that name."""

    def key(kernel: Kernel) -> tuple[object, ...]:
        others = {n: v for n, v in kernel.constraints.items() if n != name}
        rest = kernel.host_memory, kernel.priority, name in kernel.constraints
        return *kernel_key(replace(kernel, constraints=others)), *rest

    return key


def _union(name: str, kernels: list[Kernel]) -> Kernel:
    first = kernels[0]
    if len(kernels) == 1:
        return first
    values = dict.fromkeys(value for kernel in kernels for value in kernel.constraints[name])
    return replace(first, constraints={**first.constraints, name: tuple(values)})
