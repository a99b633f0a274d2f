"""Turn the text of `--on` and `--for` into targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.runtime.custom.registry import Registry


def parse_targets(text: str, *, device: str | None = None, gpu: str | None = None) -> list[Target]:
    """Find all targets that a text names."""
    from tfport.atlas.resolve.targets import resolve_targets

    return resolve_targets(text, device=device, gpu=gpu, own=tfport_target)


def parse_target(text: str, *, device: str | None = None, gpu: str | None = None) -> Target:
    """Find the only target that a text names."""
    from tfport.errors import Error

    targets = parse_targets(text, device=device, gpu=gpu)
    if len(targets) != 1:
        names = f"{targets[0].name} to {targets[-1].name}"
        raise Error(f"{text}: expected one target, found {len(targets)}: {names}")
    return targets[0]


def tfport_target(registry: Registry | None = None) -> Target:
    """The target `tfport`: its own runtime. The kernels are imported only here."""
    from tfport.runtime.own_target import own_target

    return own_target(registry)
