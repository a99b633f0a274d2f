"""Format kernels as text, and merge kernels that differ in one attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.atlas.op_definitions import value_text
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import replace


def kernel_text(kernel: Kernel, between: str = "; ") -> str:
    """Format the constraints of a kernel: `T=float32, int32; Tidx=int32`; `any` if there are none."""
    shown = [f"{name}={', '.join(map(value_text, values))}" for name, values in kernel.constraints.items()]
    shown += [f"label={kernel.label}"] if kernel.label else []
    return between.join(shown) or "any"


def kernel_key(kernel: Kernel) -> tuple[object, ...]:
    """Return a key that identifies a kernel among those of its op."""
    return kernel.device, kernel.label, tuple(sorted(kernel.constraints.items()))


def merged(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Merge kernels without changing what they cover: `T=float32` and `T=int32` become one."""
    merged_kernels = list(kernels)
    for name in dict.fromkeys(
        name for kernel in reversed(merged_kernels) for name in reversed(kernel.constraints)
    ):
        groups: dict[tuple[object, ...], list[Kernel]] = {}
        for kernel in merged_kernels:
            groups.setdefault(_apart_from(name)(kernel), []).append(kernel)
        merged_kernels = [_union(name, group) for group in groups.values()]
    return merged_kernels


def _apart_from(name: str) -> Callable[[Kernel], tuple[object, ...]]:
    """Return a key function that ignores the values of one attribute."""

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
