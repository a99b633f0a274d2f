"""The TensorFlow releases that the package of a library requires, by its metadata.

A requirement counts if its marker holds on the machine and the Python that load the library. What an
extra requires counts only if nothing else names TensorFlow: such a package is still built for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email import message_from_bytes

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import Requirement

from tfport.atlas.requirements import LINUX, declared_requirement

TENSORFLOWS = (
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "tensorflow-aarch64", "tensorflow-cpu-aws"
)  # fmt: skip
PYTHONS = tuple(f"3.{minor}" for minor in range(5, 15))
"""Those that TensorFlow has had wheels for."""
EXTRA = re.compile(r"""extra == ['"]([^'"]+)""")


def tensorflow_requirements(metadata: bytes) -> tuple[str, ...]:
    """The lines of a wheel's metadata that require versions of TensorFlow."""
    lines = [str(line) for line in message_from_bytes(metadata).get_all("Requires-Dist", [])]
    return tuple(line for line in lines if _names_tensorflow(declared_requirement(line)))


def _names_tensorflow(requirement: Requirement | None) -> bool:
    if requirement is None or not requirement.specifier:
        return False
    return requirement.name.lower().replace("_", "-") in TENSORFLOWS


def applicable_requirements(lines: Sequence[str], machine: str, python: str | None) -> list[Requirement]:
    """The requirements that apply on a machine; if the Python is unknown, those of every Python."""
    requirements = [requirement for line in lines if (requirement := declared_requirement(line))]
    plain = [r for r in requirements if r.marker is None or _holds(r.marker, machine, python)]
    return plain or [r for r in requirements if r.marker and _holds_with_an_extra(r.marker, machine, python)]


def _holds_with_an_extra(marker: Marker, machine: str, python: str | None) -> bool:
    return any(_holds(marker, machine, python, extra) for extra in EXTRA.findall(str(marker)))


def _holds(marker: Marker, machine: str, python: str | None, extra: str = "") -> bool:
    environment = {**default_environment(), **LINUX, "platform_machine": machine, "extra": extra}
    try:
        return any(
            marker.evaluate({**environment, "python_version": version, "python_full_version": f"{version}.0"})
            for version in ([python] if python else PYTHONS)
        )
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError):
        return True
