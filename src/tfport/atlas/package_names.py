"""Package names of TensorFlow and TensorFlow Serving, and what each is."""

from __future__ import annotations

import re

from tfport.atlas.atlas import ARM, X86
from tfport.startup.dataclass import dataclass


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
