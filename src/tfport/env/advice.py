"""What to install: only versions that exist, as the package index had them."""

from __future__ import annotations

from tfport.atlas.atlas import Build
from tfport.atlas.package_versions import (
    declares_tensorflow,
    fitting_version,
    package_versions,
    recorded_on,
    recorded_version,
)


def addon_advice(package: str, tensorflow: Build, python: str = "") -> str:
    """Which version of a package to install beside a TensorFlow; or that there is none."""
    if not package_versions(package):
        return f"install the version of {package} that was built for {tensorflow.name}"
    if fitting := fitting_version(package, tensorflow.version, published(tensorflow), python):
        return f"pip install {package}=={fitting.version}"
    if declares_tensorflow(package):
        beside = f" on Python {python}" if python else ""
        return f"no version of {package} supports {tensorflow.name}{beside} (as of {recorded_on()})"
    return f"install the version of {package} that was built for {tensorflow.name}"


def same_addon_advice(package: str, version: str, tensorflow: Build) -> str:
    """How to keep a version of a package beside another TensorFlow."""
    known = recorded_version(package, version)
    if known is not None and not known.accepts(tensorflow.version):
        return f"{package} {version} has them, and requires tensorflow{known.tensorflow}: install both"
    return f"pip install {package}=={version}"


def published(build: Build) -> str:
    """The day on which a build was published; empty if unknown."""
    return str(build.facts.get("uploaded") or "")[: len("YYYY-MM-DD")]
