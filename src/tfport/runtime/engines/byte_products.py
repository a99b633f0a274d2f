"""Whether the processor adds products of unsigned and signed bytes exactly.

x86 without VNNI adds pairs of them in 16 bits, which saturate. ONNX Runtime then computes with unsigned
weights if it is asked to; that is exact and takes some three times as long.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
X86 = ("x86_64", "AMD64", "i686")
EXACT = {"avx512_vnni", "avx_vnni"}
PRECISE_SETTING = ("session.x64quantprecision", "1")
"""The setting of ONNX Runtime for processors whose products saturate."""


@functools.cache
def byte_products_saturate() -> bool:
    """Whether products of bytes may be wrong; True where that is unknown."""
    if platform.machine() not in X86:
        return False
    try:
        text = CPU_INFO.read_text()
    except OSError:
        return True
    return not EXACT & processor_flags(text)


def processor_flags(text: str) -> set[str]:
    """The flags of the first processor."""
    lines = (line.partition(":") for line in text.splitlines())
    return next((set(flags.split()) for name, _, flags in lines if name.strip() == "flags"), set())
