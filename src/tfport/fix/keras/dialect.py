"""The words of a target: how a release of Keras spells classes, modules, options and versions."""

from __future__ import annotations

from functools import cached_property

from tfport.atlas.keras_releases import TENSORFLOW, KerasObject, KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.keras.generation import is_keras_3
from tfport.frontends.keras.version import KerasVersion
from tfport.startup.dataclass import dataclass

INSIDE_TENSORFLOW = {"2.5": "2.5.0", "2.3": "2.4.0", "1.0": "2.2.4-tf"}
"""The version that the Keras inside TensorFlow stores, by the first release that has it."""
DICTIONARIES_SINCE, CAUSAL_ARGUMENT_SINCE = (2, 4), (2, 10)
"""The first versions whose models have dictionaries as inputs, and whose attention has `use_causal_mask`."""
CREATION_COUNTS_SINCE = (3, 3)
"""The first Keras 3 that numbers the calls of inner models in outputs as it saves them: from 1."""
WAITS_SINCE = (3, 7)
"""The first Keras 3 that loads layers shared at several depths; before, only calls in the old form wait."""
LISTED_KEYS_SINCE = (3, 2)
"""The first Keras 3 that loads `x[:, 1]`, whose key a file stores as a list."""
ATTENTION_SHAPES_SINCE = (2, 6)
"""The first Keras 2 that builds MultiHeadAttention from stored shapes."""


@dataclass(frozen=True)
class Dialect:
    """What to write for a release."""

    release: KerasRelease

    @cached_property
    def is_3(self) -> bool:
        """Whether it is Keras 3, which reads `.keras`; Keras 2 reads `.h5`."""
        return is_keras_3(self.release)

    @cached_property
    def version(self) -> str:
        """The version that its files state."""
        if self.release.package != TENSORFLOW:
            return self.release.version
        own = version_key(self.release.version)
        return next(text for first, text in INSIDE_TENSORFLOW.items() if own >= version_key(first))

    @property
    def suffix(self) -> str:
        return ".keras" if self.is_3 else ".h5"

    @property
    def semantics(self) -> KerasVersion:
        return KerasVersion.parse(self.version)

    @property
    def stores_dictionaries(self) -> bool:
        """Whether the inputs and outputs of a model can be dictionaries."""
        return self.semantics.numbers >= DICTIONARIES_SINCE

    @property
    def has_causal_argument(self) -> bool:
        """Whether calls of attention take `use_causal_mask`; before, it was the option `causal`."""
        return self.semantics.numbers >= CAUSAL_ARGUMENT_SINCE

    @cached_property
    def functional(self) -> str:
        """The class of functional models."""
        return "Functional" if self.release.find("layer", "Functional") is not None else "Model"

    @property
    def first_call(self) -> int:
        """The number of the first call of an inner model: Keras 2 counts its creation as call 0."""
        return int(not self.is_3)

    @property
    def counts_creation(self) -> bool:
        """Whether the outputs of a model of Keras 3 count the creation of an inner model as its call 0."""
        return self.semantics.numbers >= CREATION_COUNTS_SINCE

    @property
    def loads_outputs_of_inner_models(self) -> bool:
        """Whether an inner model that is called several times can be an output."""
        return not self.is_3 or self.counts_creation

    @property
    def waits_for_calls(self) -> bool:
        """Whether it makes a call, in the form of Keras 3, once the calls whose results it uses are made."""
        return self.semantics.numbers >= WAITS_SINCE

    @property
    def loads_listed_keys(self) -> bool:
        """Whether it loads a GetItem whose key has several parts."""
        return not self.is_3 or self.semantics.numbers >= LISTED_KEYS_SINCE

    @property
    def stores_attention_shapes(self) -> bool:
        return not self.is_3 and self.semantics.numbers >= ATTENTION_SHAPES_SINCE

    def layer(self, class_name: str) -> KerasObject | None:
        """The layer of a class, by the name of the class or, in files of Keras 3, its public name."""
        known = self.release.find("layer", class_name)
        return known or (self.release.exports.get(f"keras.layers.{class_name}") if self.is_3 else None)
