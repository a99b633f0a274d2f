"""A package and its accepted versions, lists of them, and which packages contain TensorFlow.

Versions are kept as text. `packaging` is slow to import, and a target such as `tensorflow==2.8.4`
does not need it: only ranges are evaluated with it. `requirements` parses every form that pip accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfport.atlas.atlas import ARM, X86
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


PIN = re.compile(r"={2,3}([^,]+)(?<!\.\*)")
EXACT = re.compile(r"([A-Za-z0-9](?:[\w.-]{0,99}[A-Za-z0-9])?)(==\d{1,9}(?:\.\d{1,9}){0,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class PackageRequirement:
    """A package and its accepted versions."""

    package: str
    limits: str = ""
    """The accepted versions: `<2.9,>=2.4`; empty if all are."""
    extras: frozenset[str] = frozenset()

    @property
    def versions(self) -> SpecifierSet:
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.limits)

    @property
    def pin(self) -> str | None:
        """The exact version, if there is one."""
        exact = PIN.fullmatch(self.limits)
        return exact[1] if exact else None

    @property
    def release(self) -> str:
        """The exact version, the start of it (`11.2` of `==11.2.*`), or the oldest accepted version."""
        limits = {limit.operator: limit.version for limit in self.versions}
        exact = limits.get("==") or limits.get("===") or limits.get("~=") or limits.get(">=") or ""
        return exact.removesuffix(".*")

    @property
    def text(self) -> str:
        return f"{self.package}{self.limits}"


@dataclass
class PackageList:
    """The packages of a file, a folder or a text."""

    wanted: list[PackageRequirement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    platform: str = ""
    """The machine it is for, if known; the default is x86-64."""
    python: str = ""
    """The Python version it is for, if known."""
    device: str = ""
    """`gpu` if it is made for GPUs."""
    cuda: dict[str, str] = field(default_factory=dict)
    """The versions of `cudart` and `cudnn` that are not among the packages."""
    unknown: str = ""
    """Why its TensorFlow is unknown, if it has one that nothing names."""

    def add(self, other: PackageList) -> None:
        self.wanted += other.wanted
        self.notes += other.notes
        self.platform = other.platform or self.platform
        self.python = other.python or self.python
        self.device = other.device or self.device
        self.cuda |= other.cuda
        self.unknown = other.unknown or self.unknown


def exact_requirement(text: str) -> PackageRequirement | None:
    """Parse a requirement of one plain version, such as `tensorflow==2.8.4`; None for any other text."""
    exact = EXACT.fullmatch(text)
    return PackageRequirement(canonical_name(exact[1]), exact[2]) if exact else None


def merged_requirements(
    wanted: Iterable[PackageRequirement], packages: Iterable[str]
) -> list[PackageRequirement]:
    """Return the requirements of some packages, merged so that each package occurs once."""
    names, merged = set(packages), dict[str, PackageRequirement]()
    for requirement in wanted:
        if requirement.package in names:
            before = merged.get(requirement.package)
            both = (
                requirement
                if before is None
                else PackageRequirement(
                    requirement.package,
                    str(before.versions & requirement.versions),
                    before.extras | requirement.extras,
                )
            )
            merged[requirement.package] = both
    return list(merged.values())


# The packages of TensorFlow and TensorFlow Serving.


@dataclass(frozen=True, slots=True)
class TensorFlowPackage:
    """A package that contains TensorFlow itself."""

    what: str = ""
    """A description, for packages that are not recorded under their own name."""
    device: str = "cpu"
    platform: str = X86
    first: str = "0"
    last: str = "99"
    """The releases for which `tensorflow` can be used instead."""


TENSORFLOW_PACKAGES = {
    "tensorflow": TensorFlowPackage(),
    "tensorflow-cpu": TensorFlowPackage("TensorFlow without kernels for GPUs"),
    # a separate build until 2.0; then `tensorflow` has GPU kernels too; the last one is 2.11
    "tensorflow-gpu": TensorFlowPackage(
        "another name of TensorFlow since 2.1", "gpu", first="2.1", last="2.11.99"
    ),
    "tensorflow-intel": TensorFlowPackage("TensorFlow's build for Windows"),
    "tensorflow-macos": TensorFlowPackage("Apple's build for macOS"),
    "tensorflow-aarch64": TensorFlowPackage("TensorFlow's build for Linux on ARM64", platform=ARM),
    "tensorflow-cpu-aws": TensorFlowPackage("TensorFlow's build for Linux on ARM64", platform=ARM),
    "tensorflow-rocm": TensorFlowPackage("AMD's build for its GPUs", "gpu"),
    "tensorflow-rocm-enhanced": TensorFlowPackage("AMD's build for its GPUs", "gpu"),
    "tensorflow-directml": TensorFlowPackage("Microsoft's build for GPUs on Windows"),
    "tensorflow-ascend": TensorFlowPackage("Huawei's build for its accelerators"),
    "tensorflow-tpu": TensorFlowPackage("TensorFlow's build for TPUs"),
    "nvidia-tensorflow": TensorFlowPackage("NVIDIA's build", "gpu"),
    "intel-tensorflow": TensorFlowPackage("Intel's build"),
    "intel-tensorflow-avx512": TensorFlowPackage("Intel's build"),
    "tensorflow-mkl": TensorFlowPackage("conda's name for a build with Intel's library"),
    "tensorflow-eigen": TensorFlowPackage("conda's name for a build without Intel's library"),
}
"""In order of precedence, if a file lists several: some only depend on others."""

SERVING_PACKAGES = {
    "tensorflow-serving": "cpu",
    "tensorflow-serving-gpu": "gpu",
    "tensorflow-serving-api": "cpu",
    "tensorflow-serving-api-gpu": "gpu",
    "tensorflow-model-server": "cpu",
    "tf-serving": "cpu",
}
NOT_TARGETS = {
    "tf-nightly": "a nightly build; final releases are recorded; `tfport targets record` records any wheel",
    "tensorflowjs": "a converter, not a runtime; name the TensorFlow it is used with",
    "tensorflow-estimator": "Python code on top of TensorFlow; name the TensorFlow it is used with",
    "tensorflow-hub": "Python code on top of TensorFlow; name the TensorFlow it is used with",
    "onnxruntime": "for ONNX models, not TensorFlow models",
    "torch": "PyTorch, which does not load TensorFlow models",
    "jax": "JAX, which does not load TensorFlow models",
}
NIGHTLY = ("tf-nightly", "ai-edge-tensorflow")
"""How the names of nightly builds of TensorFlow itself begin."""
SERVERS = ("tensorflow-serving", "tensorflow-serving-gpu", "tensorflow-model-server")
"""Serving itself, not its API for clients, as images and Dockerfiles install it."""


def canonical_name(package: str) -> str:
    """The spelling by which pip compares names: `TensorFlow_Text` is `tensorflow-text`."""
    return re.sub(r"[-_.]+", "-", package).lower()


def is_nightly(package: str) -> bool:
    """Whether a package is a nightly build of TensorFlow itself."""
    return package.startswith(NIGHTLY)


def is_tensorflow(package: str) -> bool:
    """Whether a package contains TensorFlow itself, or a server with it."""
    return package in TENSORFLOW_PACKAGES or package in SERVERS or is_nightly(package)


def why_not(package: str) -> str | None:
    """Return why a package is not a target; None if there is no known reason."""
    return NOT_TARGETS.get("tf-nightly" if package.startswith((*NIGHTLY, "tfp-nightly")) else package)


def suggestion(package: str, recorded: list[str]) -> str:
    """Return the end of an error message: similar package names."""
    from difflib import get_close_matches  # here, as only mistakes need it

    known = sorted({*TENSORFLOW_PACKAGES, *SERVING_PACKAGES, *recorded})
    near = get_close_matches(package, known, 3, 0.85)
    return f"; did you mean {' or '.join(near)}?" if near else "; `tfport targets` lists what is recorded"
