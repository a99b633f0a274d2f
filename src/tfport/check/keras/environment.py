"""What a Keras file needs beside Keras: TensorFlow, a GPU, the Python that compiled its functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.keras_releases import KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.findings.finding import RUN
from tfport.check.findings.keras_files import (
    KerasFileFinding,
    KerasGpuLayer,
    KerasLambdaPython,
    KerasTensorFlowLayer,
)
from tfport.check.keras.generation import is_keras_3, is_standalone
from tfport.check.keras.layer_shapes import layer_shapes
from tfport.check.keras.silent_changes import stored_layers
from tfport.formats.encoding.marshalled_code import code_bytes, read_code
from tfport.formats.keras.records import KerasFile
from tfport.startup.dataclass import dataclass

CUDNN = ("CuDNNGRU", "CuDNNLSTM")
"""Layers that only GPUs run."""
NEED_TENSORFLOW = ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")
"""Layers of Keras 3 that call TensorFlow with any backend."""
CHANNELS_FIRST, NORMALIZATION, IMAGES = "channels_first", "BatchNormalization", 4
_CONV2D = "UnimplementedError: The Conv2D op currently only supports the NHWC tensor format on the CPU."
_DEPTHWISE = "UnimplementedError: Depthwise convolution on CPU is only supported for NHWC format"
_POOLING = "InvalidArgumentError: Default {}PoolingOp only supports NHWC on device type CPU"
ONE_LAYOUT = {
    "Conv1D": _CONV2D,
    "Conv2D": _CONV2D,
    "Conv3D": (
        "InvalidArgumentError: CPU implementation of Conv3D currently only supports the NHWC tensor format."
    ),
    "Conv3DTranspose": "InvalidArgumentError: Conv3DBackpropInputOpV2 only supports NDHWC on the CPU.",
    "SeparableConv1D": _DEPTHWISE,
    "SeparableConv2D": _DEPTHWISE,
    "MaxPooling2D": _POOLING.format("Max"),
    "AveragePooling2D": _POOLING.format("Avg"),
}
"""Layers of Keras 2 that pass their layout on to kernels, and what these say; the others transpose."""
FIRST_LAYOUTS, FIRST_NORMALIZATION = "2.9", "2.1"
"""The first TensorFlow whose CPU kernels take channels first: with oneDNN, and for batch normalization."""
FUSED = "InternalError: The CPU implementation of FusedBatchNorm only supports NHWC tensor format for now."
NOT_FUSED = ("renorm", "virtual_batch_size")
"""Options of batch normalization that the fused op does not have."""
BAD_MARSHAL = "ValueError: bad marshal data (unknown type code)"


@dataclass(frozen=True, slots=True)
class KerasEnvironment:
    """What is known of the environment of a Keras."""

    has_tensorflow: bool = True
    """Whether TensorFlow is certainly installed."""
    has_gpu: bool | None = None
    """None if nobody said."""
    pythons: Sequence[str] = ()
    """The versions of Python that it can be, such as `3.8`; empty if unknown."""


def layer_needs(
    file: KerasFile, release: KerasRelease, environment: KerasEnvironment
) -> Iterator[KerasFileFinding]:
    """The layers that need more than Keras."""
    for name, class_name, _ in stored_layers(file.config):
        if class_name in NEED_TENSORFLOW and is_keras_3(release) and not environment.has_tensorflow:
            needs = f"Layer {class_name} requires TensorFlow. Install it via `pip install tensorflow`."
            yield KerasTensorFlowLayer(
                layer=name,
                class_name=class_name,
                op=class_name,
                says_text=f"ImportError: {needs}",
                doubt="it loads if TensorFlow is installed",
            )
    if is_keras_3(release) or environment.has_gpu:
        return
    doubt = "it runs on a GPU" if environment.has_gpu is None else ""
    for name, class_name, says in gpu_layers(file, release):
        yield KerasGpuLayer(
            layer=name, class_name=class_name, op=class_name, says_text=says, doubt=doubt, stage=RUN
        )


def gpu_layers(file: KerasFile, release: KerasRelease) -> Iterator[tuple[str, str, str]]:
    """The layers of a file that no CPU runs in a Keras 2, and what TensorFlow says."""
    transposes = is_standalone(release) or version_key(release.version) >= version_key(FIRST_LAYOUTS)
    for name, class_name, config in stored_layers(file.config):
        if class_name in CUDNN:
            yield name, class_name, ""
        elif class_name in ONE_LAYOUT and config.get("data_format") == CHANNELS_FIRST and not transposes:
            yield name, class_name, ONE_LAYOUT[class_name]
    if not is_standalone(release) and version_key(release.version) < version_key(FIRST_NORMALIZATION):
        yield from ((name, NORMALIZATION, FUSED) for name in _fused_channels_first(file))


def _fused_channels_first(file: KerasFile) -> list[str]:
    """The batch normalizations of images along their first axis, which one op computes."""
    normalizations = [
        name
        for name, class_name, config in stored_layers(file.config)
        if class_name.startswith(NORMALIZATION)
        and config.get("axis") in (1, [1])
        and not any(config.get(option) for option in NOT_FUSED)
    ]
    shapes = layer_shapes(file) if normalizations else {}
    return [name for name in normalizations if any(len(shape) == IMAGES for shape in shapes.get(name, ()))]


def bytecode_findings(file: KerasFile, environment: KerasEnvironment) -> Iterator[KerasFileFinding]:
    """The Python functions of a file, which a loader would run under its own Python."""
    for unsafe in file.unsafe:
        if unsafe.kind != "lambda":
            continue
        first, last = read_code(code_bytes(unsafe.code)).pythons
        finding = KerasLambdaPython(layer=unsafe.where, pythons=_span(first, last))
        if first and environment.pythons and not any(_within(p, first, last) for p in environment.pythons):
            finding.says_text = BAD_MARSHAL
        else:
            finding.doubt = "it loads under the Python version that saved it"
        yield finding


def _within(python: str, first: str, last: str) -> bool:
    key = version_key(python)
    return version_key(first) <= key and (not last or key <= version_key(last))


def _span(first: str, last: str) -> str:
    if not first:
        return "the version that saved it"
    return f"Python {first} or newer" if not last else f"Python {first} to {last}"
