"""The content of an environment: its packages, its Python, and its system libraries.

`read_environment(text)` accepts what `--on` accepts: also images, Dockerfiles and the root of an
unpacked image.
What is unknown stays empty: a requirements file has no GLIBC version.
"""

from __future__ import annotations

import os
import re

from tfport.atlas.atlas import Atlas
from tfport.atlas.package_requirement import PackageRequirement, merged_requirements
from tfport.atlas.requirements import extra_requirements
from tfport.atlas.resolve.targets import WITH_CUDA, NoTensorFlow, resolve_targets
from tfport.atlas.system_image import System, is_image, system_of
from tfport.atlas.target import Target
from tfport.atlas.target_text import TargetText, parse_target_text
from tfport.errors import Error
from tfport.startup.dataclass import dataclass, field, replace

THIS = "."
CUDA_PACKAGES = {
    "cudart": (
        r"nvidia-cuda-runtime(-cu\d+)?", r"cudatoolkit", r"cuda-cudart", r"cuda-version",
        r"cuda(-toolkit|-runtime|-libraries)?", r"cuda-nvcc(-tools)?|cuda-compiler|cudatoolkit-dev",
    ),
    "cudnn": (r"nvidia-cudnn(-cu\d+)?", r"cudnn", r"libcudnn\d*"),
}  # fmt: skip
"""Packages of pip and conda with the version of a CUDA library, those that contain it first."""
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
    unknown: str = ""
    """Why its TensorFlow is unknown, if it has one that is not recorded or that nothing names."""
    for_gpus: bool = False
    """Whether it is made for GPUs, as a tag or a build string says."""
    named_cuda: dict[str, str] = field(default_factory=dict)
    """The versions of `cudart` and `cudnn` that a tag or a build string names."""

    def version(self, package: str) -> str:
        """Return the pinned or installed version of a package; empty if unknown."""
        wanted = self.packages.get(package)
        return wanted.pin or "" if wanted else ""

    def version_text(self, package: str) -> str:
        """Return the version or range of a package: `1.26.4`, or `>=1.20`."""
        wanted = self.packages.get(package)
        return (wanted.pin or wanted.limits or "any") if wanted else ""

    @property
    def cuda(self) -> dict[str, str]:
        """The versions of `cudart` and `cudnn`, from packages, from names or from the system."""
        versions_of = {**self.system.cuda, **self.named_cuda}
        for library, patterns in CUDA_PACKAGES.items():
            matching = (n for pattern in patterns for n in self.packages if re.fullmatch(pattern, n))
            versions = (self.packages[name].release for name in matching)
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
        name=text.strip(),
        packages=packages,
        python=_python(parts, packages),
        system=_system(text.strip(), parts),
        target=None,
        notes=[],
        for_gpus=parts.listed.device == "gpu",
        named_cuda=parts.listed.cuda,
    )
    wants = device or ("gpu" if environment.cuda else None)
    try:
        targets = resolve_targets(text, device=wants, atlas=atlas)
    except Error as error:
        if not parts.files or parts.typed:
            raise
        without = isinstance(error, NoTensorFlow)
        return replace(environment, notes=[str(error)], unknown="" if without else str(error))
    if len(targets) > 1:
        names = f"{targets[0].name} to {targets[-1].name}"
        raise Error(f"{text}: names {len(targets)} environments, {names}; expected one")
    return _with_extra(replace(environment, target=targets[0], notes=targets[0].notes))


def _with_extra(environment: Environment) -> Environment:
    """Add the packages that `tensorflow[and-cuda]` installs, as the wheel of the release declares them."""
    build = environment.target.build if environment.target else None
    asked = any(WITH_CUDA in wanted.extras for wanted in environment.packages.values())
    if build is None or not asked:
        return environment
    wanted = extra_requirements(build.facts.get("requires") or (), WITH_CUDA)
    if not wanted:
        note = f"{build.name} has no extra `{WITH_CUDA}`: pip ignores it"
        return replace(environment, notes=[*environment.notes, note])
    return replace(environment, packages={w.package: w for w in wanted} | environment.packages)


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
