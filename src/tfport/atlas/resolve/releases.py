"""The recorded releases as targets: those of TensorFlow, and of the packages for Keras and Lite files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import CONVERTER_KIND, DEVICES, KERAS_KIND, LITE_KIND, TFJS_KIND, Target
from tfport.atlas.versions import version_key
from tfport.errors import Error

PACKAGES = {
    "cpu": ("tensorflow>=1.0",),
    "gpu": ("tensorflow-gpu>=1.0,<2.1", "tensorflow>=2.1"),  # since 2.1 one wheel serves both
}
KERAS_PACKAGES = ("keras>=0", "tf-keras>=0", "tensorflow>=1.4", "keras-core>=0")
"""What can load a Keras file."""
LITE_PACKAGES = ("tflite-runtime>=0", "ai-edge-litert>=0", "tensorflow>=1.12")
"""What can run a TensorFlow Lite file."""


def releases(device: str, *, since: str | None = None, until: str | None = None) -> list[Target]:
    """The recorded final releases of TensorFlow for x86-64, the oldest first."""
    first, last = version_key(since or "0"), version_key(until or "9999").release
    if device not in DEVICES:
        raise Error(f"unknown device `{device}`; expected cpu or gpu")
    targets = [
        target
        for package in PACKAGES[device]
        for target in resolve_targets(package, device=device)
        if not (version := version_key(release_of(target))).is_prerelease
        and first <= version
        and version.release[: len(last)] <= last  # `2.8` includes its patches
    ]
    if not targets:
        raise Error(f"no release from {since or 'the first'} to {until or 'the newest'} is recorded")
    return targets


def keras_series(*, since: str | None = None, until: str | None = None) -> list[list[Target]]:
    """The releases of every package with a Keras, for Keras files, each the oldest first."""
    series = _package_series(KERAS_PACKAGES, lambda target: target.keras is not None, since, until)
    if not series:
        raise Error(f"no Keras from {since or 'the first'} to {until or 'the newest'} is recorded")
    return series


def lite_series(*, since: str | None = None, until: str | None = None) -> list[list[Target]]:
    """The releases of every package with a TensorFlow Lite interpreter, each the oldest first."""
    series = _package_series(LITE_PACKAGES, lambda target: target.lite is not None, since, until)
    if not series:
        raise Error(f"no interpreter from {since or 'the first'} to {until or 'the newest'} is recorded")
    return series


def _package_series(
    packages: Sequence[str], loads: Callable[[Target], bool], since: str | None, until: str | None
) -> list[list[Target]]:
    """The final releases of packages that can load a file, without packages that have none."""
    first, last = version_key(since or "0"), version_key(until or "9999").release
    series = [
        [
            target
            for target in resolve_targets(package)
            if loads(target)
            and not (version := version_key(release_of(target))).is_prerelease
            and first <= version
            and version.release[: len(last)] <= last
        ]
        for package in packages
    ]
    return [targets for targets in series if targets]


def release_of(target: Target) -> str:
    """The version of a target: that of its TensorFlow, its Keras, its interpreter or its converter."""
    if target.build is not None:
        return target.build.version
    is_package = target.kind in (CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND)
    return target.requirement.partition("==")[2] if is_package else ""
