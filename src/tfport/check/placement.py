"""On which kind of device do the nodes of a usage run, on a machine with a GPU?

TensorFlow prefers the GPU; a node without a kernel for it runs on the CPU, as does one that asks for that.
What reads a variable runs where it is (`check.graph_optimizer`); constants and placeholders may run where
their reader does, which is not known here.
"""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.devices import is_valid_name, kinds_of_devices, requested_kind
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver

CPU, GPU = "CPU", "GPU"


def kind_of_device(usage: Usage, target: Target, resolver: Resolver, producer: int) -> str:
    """`GPU` if the target has one and a kernel for it, unless the nodes ask for another; else `CPU`."""
    if GPU not in kinds_of_devices(target):
        return CPU
    device = usage.device
    elsewhere = device and is_valid_name(device) and requested_kind(device) not in ("", GPU)
    if elsewhere and has_kernel(usage, target, resolver, producer, CPU):
        return CPU
    return GPU if has_kernel(usage, target, resolver, producer, GPU) else CPU


def has_kernel(usage: Usage, target: Target, resolver: Resolver, producer: int, kind: str) -> bool:
    """Whether the target has a kernel for a usage on this kind of device, if it has any."""
    anywhere = resolver.unresolved(usage, target.registry, kinds_of_devices(target), producer)
    return len(resolver.unresolved(usage, target.registry, [kind], producer)) == len(anywhere)
