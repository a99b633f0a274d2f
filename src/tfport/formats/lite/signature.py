"""How a TensorFlow Lite file is recognized: by its file identifier."""

from __future__ import annotations

from tfport.formats.format import ModelFormat, Sample, with_suffix

IDENTIFIER = b"TFL3"
EXTENSIONS = (".tflite", ".lite", ".litert")


def is_lite(sample: Sample) -> bool:
    return sample.head[4:8] == IDENTIFIER


def _candidates(names: list[str]) -> list[list[str]]:
    return [with_suffix(names, extension) for extension in EXTENSIONS]


LITE = ModelFormat(
    "TensorFlow Lite model",
    is_lite,
    key="lite",
    bytes_name="model.tflite",
    folder_rank=12,
    candidates=_candidates,
    accepts=("lite",),
)
