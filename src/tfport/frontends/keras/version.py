"""The version of Keras that saved a file: it decides what the configuration means."""

from __future__ import annotations

import re

from tfport.formats.keras.records import KerasFile
from tfport.startup.dataclass import dataclass

UNSTATED_KERAS_3 = "3.15.1"
"""What an architecture of Keras 3 is read as: its JSON has the modules of classes, but no version."""
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, order=True)
class KerasVersion:
    """A version as numbers; `2.2.4-tf` is the Keras inside TensorFlow."""

    numbers: tuple[int, ...]
    is_tensorflow: bool = False
    text: str = ""

    @staticmethod
    def parse(text: str) -> KerasVersion:
        """The version in a file; Keras 1 if the file does not say, as Keras has stored it since 1.2."""
        numbers = _NUMBERS.match(text)
        if numbers is None:
            return KerasVersion((1, 0, 0), text=text)
        return KerasVersion(tuple(int(n or 0) for n in numbers.groups()), text.endswith("-tf"), text)

    @staticmethod
    def of(file: KerasFile) -> KerasVersion:
        """The version that saved a file: as stated, or as the form of its configuration implies."""
        if not file.keras_version and file.config is not None and "module" in file.config:
            return KerasVersion.parse(UNSTATED_KERAS_3)
        return KerasVersion.parse(file.keras_version)

    @property
    def major(self) -> int:
        return self.numbers[0]

    def __str__(self) -> str:
        return self.text or "1 (not stated)"
