"""Which XlaCallModule nodes the kernel of a release reads: their version, their bytecode and their platforms.

Recorded from the wheels for x86-64 of every release that has the op, each run with modules of every
version. A module that was saved as text is not looked into.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.devices import CPU, GPU
from tfport.check.kernel_limits import KernelLimit
from tfport.check.release_quirks import since
from tfport.graph.attrs import Attr
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass, replace

XLA_PROGRAM = "XlaCallModule"
ANY_VERSION = 1 << 31
NO_BYTECODE = -1
WITH_PLATFORMS = 6
"""From this version on a module must name its platforms."""
PLATFORMS = {CPU: "CPU", GPU: "CUDA"}
"""What XLA calls the kinds of devices."""


@dataclass(frozen=True, slots=True)
class ReadModules:
    """What the kernel reads, from a release on."""

    first: str
    lowest: int
    """The lowest version of the node."""
    highest: int
    bytecode: int
    """The newest version of MLIR's bytecode; -1 if it reads only text."""


RECORDED = (
    ReadModules("2.10", 0, ANY_VERSION, NO_BYTECODE),
    ReadModules("2.13", 2, 5, 1),
    ReadModules("2.14", 4, 8, 4),
    ReadModules("2.16", 4, 9, 6),
    ReadModules("2.20", 4, 10, 6),
)


def module_limits(usage: Usage, target: Target, kind: str) -> Iterator[Unresolved]:
    """Why the kernel of a target for this kind of device does not run the module of a usage."""
    if usage.op != XLA_PROGRAM or target.build is None or not since(target, RECORDED[0].first):
        return
    reads = next(row for row in reversed(RECORDED) if since(target, row.first))
    for limit in (
        _version(reads, usage.attrs.get("version")),
        _bytecode(reads, usage.attrs.get("module"), target),
        _platforms(usage, target, PLATFORMS[kind]),
    ):
        if limit is not None:
            yield Unresolved(Question.KERNEL_LIMIT, expected=replace(limit, device=kind))


def _version(reads: ReadModules, version: Attr) -> KernelLimit | None:
    if not isinstance(version, int) or reads.lowest <= version <= reads.highest:
        return None
    says = f"XlaCallModuleOp with version {version} is not supported "
    if version > reads.highest:
        says += f"by this build. Must be <= {reads.highest}"
    else:
        says += f"anymore. Must be >= {reads.lowest}"
    among = [row for row in RECORDED if row.lowest <= version <= row.highest < ANY_VERSION]
    if not among:
        cause = f"no recorded release supports version {version}"
    elif among[-1] is RECORDED[-1]:
        cause = f"recorded from real binaries; version {version} is supported from {among[0].first} on"
    else:
        after = RECORDED[RECORDED.index(among[-1]) + 1]
        cause = f"recorded from real binaries; version {version} is supported before {after.first}"
    return _limit(says, "version", cause)


def _bytecode(reads: ReadModules, module: Attr, target: Target) -> KernelLimit | None:
    from tfport.formats.stablehlo.bytecode import bytecode_version  # few models have modules

    number = bytecode_version(module) if isinstance(module, bytes) else None
    if number is None or number <= reads.bytecode:
        return None
    first = next((row.first for row in RECORDED if row.bytecode >= number), None)
    what = "MHLO computation" if not since(target, "2.12") else "computation"
    cause = (
        "no recorded release reads it"
        if first is None
        else f"recorded from real binaries; read from {first} on"
    )
    return _limit(f"Cannot deserialize {what}", f"a module in MLIR bytecode of version {number}", cause)


def _platforms(usage: Usage, target: Target, platform: str) -> KernelLimit | None:
    """The platforms that a module is compiled for; the kernel checks them since 2.13."""
    version, listed = usage.attrs.get("version"), usage.attrs.get("platforms")
    if not since(target, "2.13") or not isinstance(version, int):
        return None
    names = [n.decode(errors="replace") if isinstance(n, bytes) else str(n) for n in listed or ()]
    if not names:
        if version < WITH_PLATFORMS or not since(target, "2.14"):
            return None
        says = f"XlaCallModuleOp with version {version} must have non-empty platforms."
        return _limit(says, "a module without platforms", "recorded from real binaries")
    if platform in names:
        return None
    required = ", ".join(names)
    says = f"The current platform {platform} is not among the platforms required by the module: [{required}]"
    return _limit(says, "platforms", "the program was compiled for other platforms")


def _limit(says: str, about: str, cause: str) -> KernelLimit:
    return KernelLimit(
        XLA_PROGRAM, lambda usage, attrs: True, says, by_onednn=False, about=about, cause=cause
    )
