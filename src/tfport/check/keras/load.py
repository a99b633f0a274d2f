"""What `load_model` of a Keras release does with a file: the right simulated loader for both."""

from __future__ import annotations

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.keras.compile_settings import always_compiles, compile_problems
from tfport.check.keras.generation import is_keras_1, is_keras_3
from tfport.check.keras.keras2 import load_with_keras_1, load_with_keras_2
from tfport.check.keras.keras3 import load_with_keras_3
from tfport.check.keras.raised import Raised
from tfport.check.keras.stored_weights import weight_problems
from tfport.formats.keras.records import KerasFile


def simulated_load(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`: first the one it raises, then further ones."""
    load = load_with_keras_2
    if is_keras_1(release) or is_keras_3(release):
        load = load_with_keras_1 if is_keras_1(release) else load_with_keras_3
    compiled = compile_problems(file, release) if always_compiles(file, release) else []
    return [*load(file, release), *weight_problems(file, release), *compiled]
