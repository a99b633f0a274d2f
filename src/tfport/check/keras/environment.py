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
from tfport.check.keras.generation import is_keras_3
from tfport.check.keras.silent_changes import stored_layers
from tfport.formats.encoding.marshalled_code import code_bytes, read_code
from tfport.formats.keras.records import KerasFile
from tfport.startup.dataclass import dataclass

CUDNN = ("CuDNNGRU", "CuDNNLSTM")
"""Layers that only GPUs run."""
NEED_TENSORFLOW = ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")
"""Layers of Keras 3 that call TensorFlow with any backend."""
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
        if class_name in CUDNN and not is_keras_3(release) and not environment.has_gpu:
            doubt = "it runs on a GPU" if environment.has_gpu is None else ""
            yield KerasGpuLayer(layer=name, class_name=class_name, op=class_name, doubt=doubt, stage=RUN)


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
