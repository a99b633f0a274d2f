"""The names that TensorFlow goes by among packages, and what each stands for."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from tfport.atlas.atlas import ARM, X86


@dataclass(frozen=True, slots=True)
class TensorFlowPackage:
    """A package that is TensorFlow itself."""

    what: str = ""
    """What it is, where it is not recorded under its own name."""
    device: str = "cpu"
    platform: str = X86
    first: str = "0"
    last: str = "99"
    """The releases that may be taken from `tensorflow` instead."""


TENSORFLOW_PACKAGES = {
    "tensorflow": TensorFlowPackage(),
    "tensorflow-cpu": TensorFlowPackage("TensorFlow without kernels for GPUs"),
    # a build of its own until 2.0; then `tensorflow` has the kernels for GPUs too, and 2.12 has no other name
    "tensorflow-gpu": TensorFlowPackage(
        "another name of TensorFlow from 2.1 on", "gpu", first="2.1", last="2.11.99"
    ),
    "tensorflow-intel": TensorFlowPackage("TensorFlow's build for Windows"),
    "tensorflow-macos": TensorFlowPackage("Apple's build for macOS"),
    "tensorflow-aarch64": TensorFlowPackage("TensorFlow's build for Linux on ARM64", platform=ARM),
    "tensorflow-cpu-aws": TensorFlowPackage("TensorFlow's build for Linux on ARM64", platform=ARM),
    "tensorflow-rocm": TensorFlowPackage("AMD's build for its GPUs", "gpu"),
    "intel-tensorflow": TensorFlowPackage("Intel's build"),
    "intel-tensorflow-avx512": TensorFlowPackage("Intel's build"),
    "tensorflow-mkl": TensorFlowPackage("conda's name for a build with Intel's library"),
    "tensorflow-eigen": TensorFlowPackage("conda's name for a build without Intel's library"),
}
"""The first that is there counts, where a file lists several: some only bring others with them."""

SERVING_PACKAGES = {
    "tensorflow-serving": "cpu",
    "tensorflow-serving-gpu": "gpu",
    "tensorflow-serving-api": "cpu",
    "tensorflow-serving-api-gpu": "gpu",
    "tensorflow-model-server": "cpu",
    "tf-serving": "cpu",
}
NOT_TARGETS = {
    "tf-nightly": "a nightly build, and final releases are recorded; `tfport targets record` takes any wheel",
    "tflite-runtime": "for TensorFlow Lite models, which are no TensorFlow graphs",
    "ai-edge-litert": "for TensorFlow Lite models, which are no TensorFlow graphs",
    "tensorflowjs": "a converter, no runtime of its own; name the TensorFlow beside it",
    "keras": "a library of layers; name the TensorFlow under it",
    "tf-keras": "a library of layers; name the TensorFlow under it",
    "tensorflow-estimator": "Python code over TensorFlow; name the TensorFlow under it",
    "tensorflow-hub": "Python code over TensorFlow; name the TensorFlow under it",
    "onnxruntime": "for ONNX models, not TensorFlow ones",
    "torch": "PyTorch, which loads no TensorFlow models",
    "jax": "JAX, which loads no TensorFlow models",
}
NIGHTLY = ("tf-nightly", "tfp-nightly")


def why_not(package: str) -> str | None:
    """Why a package that people name is no target."""
    return NOT_TARGETS.get("tf-nightly" if package.startswith(NIGHTLY) else package)


def suggestion(package: str, recorded: list[str]) -> str:
    """The end of a sentence: names that may have been meant."""
    known = sorted({*TENSORFLOW_PACKAGES, *SERVING_PACKAGES, *recorded})
    near = get_close_matches(package, known, 3, 0.85)
    return f"; did you mean {' or '.join(near)}?" if near else "; `tfport targets` lists what is recorded"
