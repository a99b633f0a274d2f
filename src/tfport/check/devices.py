"""Which devices does a target have, and on which of them do nodes run?

TensorFlow prefers the GPU; a node without a kernel for it runs on the CPU, as does one that asks for that.
What reads a variable runs where it is (`check.graph_optimizer`); constants and placeholders may run where
their reader does, which is not known here.
"""

from __future__ import annotations

import functools
import re

from tfport.atlas.target import Target
from tfport.check.release_quirks import has_xla_devices
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver

CPU, GPU = "CPU", "GPU"
_XLA = {"cpu": ("XLA_CPU",), "gpu": ("XLA_GPU", "XLA_CPU")}
_PLAIN = {"cpu": (CPU,), "gpu": (GPU, CPU)}
_PART = re.compile(r"/(?:(job|replica|task):([^/]*)|(?:device:)?([A-Za-z_]+|\*):(\*|\d+))", re.IGNORECASE)
_LOCAL = {"job": "localhost", "replica": "0", "task": "0"}


@functools.lru_cache(maxsize=1024)
def kinds_of_devices(target: Target) -> tuple[str, ...]:
    """The kinds of devices that a session of the target has, the preferred first."""
    return _PLAIN[target.device] + (_XLA[target.device] if has_xla_devices(target) else ())


def plain_devices(target: Target) -> tuple[str, ...]:
    """The kinds of devices without those of XLA, on which no branch or loop runs its functions."""
    return _PLAIN[target.device]


def is_valid_name(device: str) -> bool:
    """Whether a text is a device name."""
    return not _PART.sub("", device).strip("/")


def is_local(device: str) -> bool:
    """Whether a device belongs to this machine, present or not."""
    return all(value in ("*", _LOCAL[part.lower()]) for part, value, _, _ in _PART.findall(device) if part)


def requested_kind(device: str) -> str:
    """The kind of device that a name asks for, such as `GPU`; empty if any will do."""
    kinds = [kind.upper() for _, _, kind, _ in _PART.findall(device) if kind not in ("", "*")]
    return kinds[-1] if kinds else ""


def is_present(device: str, target: Target) -> bool:
    """Whether a target has a device of that kind: one of each, numbered 0."""
    kinds = ("", "*", *kinds_of_devices(target))
    return all(
        kind.upper() in kinds and number in ("", "*", "0") for _, _, kind, number in _PART.findall(device)
    )


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
