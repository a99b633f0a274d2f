"""Read the models of tests/frontends/keras/recorded: files that real Keras releases saved, and their answers.

    for model in recorded("convolution", release="keras-3.15.1"):
        path = model.write(tmp_path)
        for inputs, answers in model.questions(): ...

tools/truth/keras_corpus records them; its README says what they are.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "recorded"
MODEL_SUFFIXES = ("h5", "keras")

Question = tuple[list[np.ndarray], list[np.ndarray]]


@dataclass(frozen=True)
class RecordedModel:
    """A file that a release saved."""

    family: str
    case: str
    release: str
    suffix: str
    answers: int

    def __str__(self) -> str:
        return f"{self.case}-{self.release}.{self.suffix}"

    def write(self, folder: Path) -> Path:
        """Write the file into a folder; returns its path."""
        path = folder / f"{self.case}.{self.suffix}"
        path.write_bytes(_members(self.family)[f"{self.case}/{self.release}.{self.suffix}"])
        return path

    def questions(self) -> list[Question]:
        """Two lists of inputs, in the order of the model's inputs, each with the release's answers."""
        data = _members(self.family)[f"{self.case}/answers-{self.answers}.npz"]
        with np.load(io.BytesIO(data)) as arrays:
            return [(_numbered(arrays, p + "in"), _numbered(arrays, p + "out")) for p in ("", "b_")]


def recorded(
    family: str | None = None, release: str | None = None, suffixes: tuple[str, ...] = MODEL_SUFFIXES
) -> Iterator[RecordedModel]:
    """The recorded models, of all families and releases unless one is named."""
    for name, cases in _index().items():
        for case, releases in cases.items():
            for saved_by, (answers, *saved) in releases.items():
                if family in (None, name) and release in (None, saved_by):
                    yield from (
                        RecordedModel(name, case, saved_by, s, answers) for s in saved if s in suffixes
                    )


@cache
def _index() -> dict[str, dict[str, dict[str, list]]]:
    return json.loads((FOLDER / "index.json").read_text())


@cache
def _members(family: str) -> dict[str, bytes]:
    with tarfile.open(FOLDER / f"{family}.tar.xz") as tar:
        return {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


def _numbered(arrays: np.lib.npyio.NpzFile, prefix: str) -> list[np.ndarray]:
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in arrays.files)
    values = [arrays[f"{prefix}{i}"] for i in range(count)]
    return [value.astype(object) if value.dtype.kind == "S" else value for value in values]
