"""What does an environment hold: its packages, its Python, and the system under them?

`read_environment(text)` takes what `--on` takes, and the root of an unpacked image. What
a file does not say stays empty: a requirements file knows no GLIBC.
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
"""The packages that bring a library of CUDA, by pip or by conda."""
MINOR = 2


@dataclass(frozen=True, eq=False)
class Environment:
    """One environment, as far as it is told."""

    name: str
    """As it was typed."""
    packages: dict[str, PackageRequirement]
    python: str
    """`3.10`."""
    system: System
    target: Target | None
    """The TensorFlow in it with its add-ons."""
    notes: list[str]

    def version(self, package: str) -> str:
        """The version of a package that is pinned, or installed; empty if it is not known."""
        wanted = self.packages.get(package)
        return wanted.pin or "" if wanted else ""

    def told(self, package: str) -> str:
        """What is said of a package's version: `1.26.4`, or `>=1.20`."""
        wanted = self.packages.get(package)
        return (wanted.pin or str(wanted.versions) or "any") if wanted else ""

    @property
    def cuda(self) -> dict[str, str]:
        """The versions of `cudart` and `cudnn`, from packages or else from the system."""
        found = dict(self.system.cuda)
        for library, pattern in CUDA_PACKAGES.items():
            versions = (self.version(name) for name in self.packages if pattern.fullmatch(name))
            found[library] = next(filter(None, versions), found.get(library, ""))
        return {library: version for library, version in found.items() if version}


def read_environment(text: str, *, device: str | None = None, atlas: Atlas | None = None) -> Environment:
    """The one environment that a text names."""
    parts = parse_target_text(text)
    everything = [*parts.typed, *parts.listed.wanted]
    packages = {
        wanted.package: wanted for wanted in merged_requirements(everything, [w.package for w in everything])
    }
    told = Environment(
        text.strip(), packages, _python(parts, packages), _system(text.strip(), parts), None, []
    )
    wants = device or ("gpu" if told.cuda else None)
    try:
        targets = resolve_targets(text, device=wants, atlas=atlas)
    except Error as error:
        if not parts.listed.wanted or parts.typed:
            raise
        return replace(told, notes=[str(error)])
    if len(targets) > 1:
        names = f"{targets[0].name} to {targets[-1].name}"
        raise Error(f"{text}: {len(targets)} environments, {names}; expected one")
    return replace(told, target=targets[0], notes=targets[0].notes)


def _python(parts: TargetText, packages: dict[str, PackageRequirement]) -> str:
    """The Python of a folder, or the package that conda calls so."""
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
