"""Which devices does a target have, and does what a node asks for name one of them?"""

from __future__ import annotations

import functools
import re

from tfport.atlas.target import Target
from tfport.check.release_quirks import has_xla_devices

_XLA = {"cpu": ("XLA_CPU",), "gpu": ("XLA_GPU", "XLA_CPU")}
_OWN = {"cpu": ("CPU",), "gpu": ("GPU", "CPU")}
_PART = re.compile(r"/(?:(job|replica|task):([^/]*)|(?:device:)?([A-Za-z_]+|\*):(\*|\d+))", re.IGNORECASE)
_HERE = {"job": "localhost", "replica": "0", "task": "0"}


@functools.lru_cache(maxsize=1024)
def kinds_of_devices(target: Target) -> tuple[str, ...]:
    """The kinds of devices that a session of the target has, those preferred first."""
    return _OWN[target.device] + (_XLA[target.device] if has_xla_devices(target) else ())


def is_name(device: str) -> bool:
    """Whether a text names a device at all."""
    return not _PART.sub("", device).strip("/")


def is_here(device: str) -> bool:
    """Whether a device that a node asks for is one of this machine, whatever it has."""
    return all(value in ("*", _HERE[part.lower()]) for part, value, _, _ in _PART.findall(device) if part)


def is_there(device: str, target: Target) -> bool:
    """Whether a target has a device of that kind: one of each, numbered 0."""
    kinds = ("", "*", *kinds_of_devices(target))
    return all(
        kind.upper() in kinds and number in ("", "*", "0") for _, _, kind, number in _PART.findall(device)
    )
