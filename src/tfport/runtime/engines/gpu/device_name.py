"""The name of the device that a session computes on: `cpu`, `cuda`, `cuda:1`, `tensorrt` or `auto`."""

from __future__ import annotations

import re

from tfport.errors import Error
from tfport.startup.dataclass import dataclass

CPU, CUDA, TENSORRT, AUTO = "cpu", "cuda", "tensorrt", "auto"
KINDS = (CPU, CUDA, TENSORRT, AUTO)
ALIASES = {"gpu": CUDA}
_NAME = re.compile(r"(?P<kind>[a-z]+)(:(?P<index>[0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A kind of device, and which one of them."""

    kind: str = CPU
    index: int = 0

    @property
    def is_gpu(self) -> bool:
        """Whether the user chose a GPU, if only where there is one."""
        return self.kind != CPU

    def __str__(self) -> str:
        return self.kind if self.kind in (CPU, AUTO) else f"{self.kind}:{self.index}"


def parse_device(text: str) -> DeviceName:
    match = _NAME.fullmatch(text.strip().lower())
    kind = ALIASES.get(match["kind"], match["kind"]) if match else ""
    if match is None or kind not in KINDS or (match["index"] and kind in (CPU, AUTO)):
        raise Error(f"unknown device `{text}`; expected cpu, cuda, cuda:N, tensorrt, tensorrt:N or auto")
    return DeviceName(kind, int(match["index"] or 0))
