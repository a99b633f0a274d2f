"""Look up which package contains a header that a compiler does not find."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

FLAGS = "compile with the flags of `tf.sysconfig.get_compile_flags()`, which name TensorFlow's own headers"
OWNERS: dict[tuple[str, ...], tuple[str, list[str]]] = {
    ("tensorflow/c/", "tensorflow/lite/c/"): (
        "It is a header of TensorFlow's C library.",
        [
            "download libtensorflow, which has it in `include`, and compile with `-I FOLDER/include`",
            f"for custom ops, {FLAGS}",
        ],
    ),
    ("tensorflow/cc/",): (
        "It is a header of TensorFlow's C++ interface, which is only partly in the Python package.",
        ["build TensorFlow from source (`//tensorflow:libtensorflow_cc.so`, `//tensorflow:install_headers`)"],
    ),
    ("tensorflow/",): (
        "It is a header of TensorFlow: the command does not name its folder, or this release lacks it.",
        [FLAGS, "if the header is not in that folder, the code was written for another release"],
    ),
    ("nsync", "third_party/eigen3/", "unsupported/Eigen/", "Eigen/", "absl/", "google/protobuf/"): (
        "It is a header of a library that TensorFlow's own headers include; the Python package has it.",
        [FLAGS, "TensorFlow 1.3 and 1.4 need `-I$TF_INC/external/nsync/public` in addition"],
    ),
    ("third_party/gpus/cuda/", "cuda", "cudnn", "cublas"): (
        "It is a header of CUDA or cuDNN.",
        [
            "install the CUDA toolkit of the release (`tfport targets show TARGET`), and add "
            "`-I /usr/local/cuda/include`",
            "old code includes `third_party/gpus/cuda/include/…` or `cuda/include/…`: make a link of that "
            "name to the folder of CUDA, or change the include",
        ],
    ),
}  # fmt: skip
"""What a header belongs to, by the beginning of its name: the first that matches counts."""


def missing(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What the header belongs to; None if it is not one of TensorFlow or of what it needs."""
    header = match.names["header"].lstrip("<")
    for beginnings, (owner, ways) in OWNERS.items():
        if header.startswith(beginnings):
            return Meaning([owner], ways)
    return None
