"""The content of an environment: its packages, its Python, and its system libraries.

`read_environment(text)` accepts what `--on` accepts, and the root of an unpacked image.
What is unknown stays empty: a requirements file has no GLIBC version.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace

from tfport.atlas.atlas import Atlas
from tfport.atlas.requirements import PackageRequirement, merged_requirements
from tfport.atlas.system_image import System, is_image, system_of
from tfport.atlas.target import Target, resolve_targets
from tfport.atlas.target_text import TargetText, parse_target_text
from tfport.errors import Error

THIS = "."
CUDA_PACKAGES = {
    "cudart": re.compile(r"nvidia-cuda-runtime(-cu\d+)?|cudatoolkit|cuda-cudart"),
    "cudnn": re.compile(r"nvidia-cudnn(-cu\d+)?|cudnn"),
}
"""Packages of pip or conda that contain a CUDA library."""
MINOR = 2


@dataclass(frozen=True, eq=False)
class Environment:
    """What is known about one environment."""

    name: str
    """The text that the user typed."""
    packages: dict[str, PackageRequirement]
    python: str
    """`3.10`."""
    system: System
    target: Target | None
    """Its TensorFlow, with add-ons."""
    notes: list[str]

    def version(self, package: str) -> str:
        """Return the pinned or installed version of a package; empty if unknown."""
        wanted = self.packages.get(package)
        return wanted.pin or "" if wanted else ""

    def version_text(self, package: str) -> str:
        """Return the version or range of a package: `1.26.4`, or `>=1.20`."""
        wanted = self.packages.get(package)
        return (wanted.pin or str(wanted.versions) or "any") if wanted else ""

    @property
    def cuda(self) -> dict[str, str]:
        """The versions of `cudart` and `cudnn`, from packages or from the system."""
        versions_of = dict(self.system.cuda)
        for library, pattern in CUDA_PACKAGES.items():
            versions = (self.version(name) for name in self.packages if pattern.fullmatch(name))
            versions_of[library] = next(filter(None, versions), versions_of.get(library, ""))
        return {library: version for library, version in versions_of.items() if version}


def read_environment(text: str, *, device: str | None = None, atlas: Atlas | None = None) -> Environment:
    """Read the environment that a text names."""
    parts = parse_target_text(text)
    everything = [*parts.typed, *parts.listed.wanted]
    packages = {
        wanted.package: wanted for wanted in merged_requirements(everything, [w.package for w in everything])
    }
    environment = Environment(
        text.strip(), packages, _python(parts, packages), _system(text.strip(), parts), None, []
    )
    wants = device or ("gpu" if environment.cuda else None)
    try:
        targets = resolve_targets(text, device=wants, atlas=atlas)
    except Error as error:
        if not parts.listed.wanted or parts.typed:
            raise
        return replace(environment, notes=[str(error)])
    if len(targets) > 1:
        names = f"{targets[0].name} to {targets[-1].name}"
        raise Error(f"{text}: names {len(targets)} environments, {names}; expected one")
    return replace(environment, target=targets[0], notes=targets[0].notes)


def _python(parts: TargetText, packages: dict[str, PackageRequirement]) -> str:
    """Return the Python version of a folder, or of conda's package `python`."""
    only = list(packages["python"].versions) if "python" in packages else []
    exact = only[0].version if len(only) == 1 and only[0].operator == "==" else ""
    numbers = exact.removesuffix(".*").split(".")
    return parts.listed.python or (".".join(numbers[:MINOR]) if len(numbers) >= MINOR else "")


def _system(text: str, parts: TargetText) -> System:
    path = os.path.expanduser(text)
    if text == THIS:
        return system_of("/")
    if os.path.isdir(path) and is_image(path):
        return system_of(path)
    return System(machine=parts.listed.platform)
