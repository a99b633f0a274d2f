"""The inputs on which two models are compared: the user's, warm-up requests, and generated ones.

Inputs are generated for all sizes and value profiles that a signature allows, and are always the
same. Value profiles need a size that the original accepts (an image may be too small for its
filters): `TrialBuilder.sizings` are tried first, from likely to unlikely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.fix.certify.compare import precision
from tfport.fix.certify.inputs.arrays import (
    APART,
    MIXED,
    PROFILES,
    Random,
    ValueProfile,
    array_of,
    ids_below,
    seed_for,
    with_padding,
)
from tfport.fix.certify.inputs.composites import generated_parts
from tfport.fix.certify.inputs.examples import ValueCounts
from tfport.fix.certify.inputs.input_roles import TensorPart, roles_of
from tfport.fix.certify.inputs.input_uses import decides_sizes
from tfport.fix.certify.inputs.parsed_strings import generated_strings
from tfport.fix.certify.narrowest import narrowest_types
from tfport.formats.saved_model.warmup import WarmupRequest
from tfport.graph.dtypes import STRING, DType
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


GIVEN, WARMUP, GENERATED = "given", "warm-up", "generated"
"""Where the inputs of a trial come from."""
UNENDED = "the call did not end within"
"""How the reason starts why there is no outcome of a trial: a loop goes on for these inputs."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One call of a signature."""

    signature: str
    name: str
    """Its values and sizes: `ordinary, 2 rows`."""
    origin: str
    inputs: dict[str, Any]
    """Arrays by the names of the signature; a composite input is a tuple of its parts."""
    finite: bool = True
    """Whether no number in it is NaN or infinite."""
    seed: int | None = None
    """The seed of numpy's `default_rng` that made the values; None if they were not generated."""


def nudged_trial(trial: Trial, seed: int) -> Trial:
    """The trial with each floating-point number of its inputs changed in the last bit, up or down."""
    from tfport.runtime.engines.race import next_to  # few comparisons need it

    arrays = {name: array for name, array in trial.inputs.items() if isinstance(array, np.ndarray)}
    return replace(trial, inputs=trial.inputs | {name: next_to(a, seed) for name, a in arrays.items()})


@dataclass(frozen=True, slots=True)
class Sizing:
    """Values for the unknown sizes of a signature."""

    rows: int
    other: int
    spread: int = 0
    """How much larger each further axis is than the one before."""
    rank: int = 2
    """The rank of tensors of unknown rank."""

    def shape(self, shape: Shape) -> tuple[int, ...]:
        dims = (None,) * self.rank if shape.dims is None else shape.dims
        return tuple(self._size(axis) if size is None else size for axis, size in enumerate(dims))

    def _size(self, axis: int) -> int:
        return self.rows if axis == 0 else self.other + (axis - 1) * self.spread

    def __str__(self) -> str:
        return f"{self.rows} row{'s' * (self.rows != 1)}, open sizes {self.other}"


IDS = frozenset(("ordinary", "mixed", "padded", "some zeros", "positive", "wide"))
"""The profiles in which indices of a table are all of its rows, and not small numbers."""
EQUAL = frozenset(("zeros", "ones"))
"""The profiles in which all numbers are equal."""
SUPPRESSIONS = frozenset(
    ("CombinedNonMaxSuppression", "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3",
     "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps")
)  # fmt: skip
GENERATOR = 5
"""The version of this generator: it grows when the same seed makes other inputs."""
USUAL = (Sizing(1, 4), Sizing(2, 4), Sizing(5, 4), Sizing(3, 7), Sizing(2, 3, 1))
UNUSUAL = tuple(
    Sizing(rows, other, 0, rank)
    for rank in (2, 1, 0, 4, 3)
    for rows, other in ((2, 1), (2, 16), (1, 32), (2, 2), (1, 224), (1, 3))
)
"""Tried if the usual ones are refused: other ranks, and sizes of images and channels."""
LONG = tuple(Sizing(rows, size) for rows, size in ((2, 1024), (1, 4000), (4000, 4000), (16000, 16000)))
"""Tried last if one size is open: samples of sounds, which make frames."""
ATTEMPTS = (ValueCounts(0, 3), ValueCounts(0, 1), ValueCounts(1, 1))
"""How many values a feature has that may have any number, in each attempt to make a trial."""


class TrialBuilder:
    """Generates inputs for one signature of a model."""

    def __init__(self, model: Model, signature: Signature, words: Sequence[bytes] = ()) -> None:
        self.model = model
        self.signature = signature
        self.words = words
        """Words that the model looks up."""
        self.roles = roles_of(model, signature)
        inside = narrowest_types(model, signature).values()
        self.narrowest = min((t.dtype for t in inside), key=precision, default=None)
        self.specs = dict(sorted(signature.inputs.items()))
        """By name, so that the order of a file does not change the values."""
        self.shapes = {t: self._shape(spec, t) for spec in self.specs.values() for t in spec.tensors}

    @property
    def has_numbers(self) -> bool:
        """Whether any input could be NaN."""
        types = [self._type(spec, t) for spec in self.specs.values() for t in spec.tensors]
        return any(dtype.is_floating or dtype.is_complex for dtype in types) or self._floats_in_examples()

    @property
    def parses_features(self) -> bool:
        """Whether an input is parsed as Examples or SequenceExamples."""
        roles = self.roles.by_tensor.values()
        return any(role.features for role in roles)

    def profiles(self) -> list[ValueProfile]:
        """The value profiles to try.

        Without huge numbers if an input is a size or an iteration count. Without equal numbers if boxes are
        selected by their scores: all scores of such an image are equal, and any order of them is right.
        """
        tensors = [t for spec in self.specs.values() for t in spec.tensors]
        free = [t for t in tensors if self.roles.of(t).part is None and self.model.has_tensor(t)]
        decides = any(decides_sizes(self.model.graph.value(t)) for t in free)
        graph = self.model.graph
        selects = any(each.has_any(SUPPRESSIONS) for each in (graph, *graph.library.functions.values()))
        return [
            profile
            for profile in PROFILES
            if not (decides and profile.huge) and not (selects and profile.name in EQUAL)
        ]

    def few_of(self, profiles: Sequence[ValueProfile]) -> list[ValueProfile]:
        """Those that tell most, for a model whose calls take long."""
        are_images = all(len(shape.dims or ()) > 3 for shape in self.shapes.values())
        return [MIXED, *(p for p in profiles if p.name in APART and not (p.padded and are_images))]

    def sizings(self) -> tuple[list[Sizing], list[Sizing]]:
        """The sizes to try, and those to try if the original refuses them; without repeated shapes."""
        wholes = [role.part.of for role in self.roles.by_tensor.values() if role.part]
        shapes = [*self.shapes.values(), *wholes]
        distinct: dict[tuple[tuple[int, ...], ...], Sizing] = {}
        is_small = all(shape.dims is not None and len(shape.dims) <= 2 for shape in shapes)
        is_small &= all(spec.dtype != STRING for spec in self.specs.values())
        for sizing in (*USUAL, *UNUSUAL, *(LONG if is_small else ())):
            distinct.setdefault(tuple(map(sizing.shape, shapes)), sizing)
        kept = list(distinct.values())
        usual = [candidate for candidate in kept if candidate in USUAL]
        return usual, [candidate for candidate in kept if candidate not in USUAL]

    def shapes_at(self, sizing: Sizing) -> dict[str, tuple[int, ...]]:
        """The shape of each input tensor."""
        return {tensor: sizing.shape(shape) for tensor, shape in self.shapes.items()}

    def trial(self, sizing: Sizing, profile: ValueProfile, attempt: int = 0) -> Trial:
        """A trial with these sizes and values; further attempts make other values."""
        about = (sizing, profile.name, *((attempt,) if attempt else ()))
        seed = seed_for(self.signature.name, self._described(), *about)
        random = np.random.default_rng(seed)
        profile = profile.with_words(self.words)
        wholes = self._wholes(sizing, profile, random)
        inputs = {
            name: self._input(spec, sizing, profile, random, wholes, ATTEMPTS[attempt])
            for name, spec in self.specs.items()
        }
        finite = profile.finite or not self.has_numbers
        words = f"{profile.name}, {sizing}" if self._is_open() else profile.name
        return Trial(self.signature.name, words, GENERATED, inputs, finite, seed)

    def _input(
        self,
        spec: TensorSpec,
        sizing: Sizing,
        profile: ValueProfile,
        random: Random,
        wholes: Mapping[str, Any],
        counts: ValueCounts,
    ) -> Any:
        arrays = [
            wholes[t] if t in wholes else self._tensor(spec, t, sizing, profile, random, counts)
            for t in spec.tensors
        ]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _tensor(
        self,
        spec: TensorSpec,
        tensor: str,
        sizing: Sizing,
        profile: ValueProfile,
        random: Random,
        counts: ValueCounts,
    ) -> NDArray[Any]:
        role, shape, dtype = (
            self.roles.of(tensor),
            sizing.shape(self.shapes[tensor]),
            self._type(spec, tensor),
        )
        if role.dropout_off is not None:
            return np.full(shape if self.shapes[tensor].dims else (), role.dropout_off, dtype.numpy)
        if dtype == STRING and role.is_parsed:
            return generated_strings(role, shape, profile, random, counts)
        if role.limit is not None and profile.name in IDS:
            array = ids_below(role.limit, dtype, shape, random)
        else:
            array = array_of(dtype, shape, profile, random, self.narrowest)
        if role.is_sorted:
            return np.sort(array, axis=None).reshape(shape)
        return with_padding(array) if profile.padded else array

    def _wholes(self, sizing: Sizing, profile: ValueProfile, random: Random) -> dict[str, NDArray[Any]]:
        """Arrays for the parts of sparse and ragged tensors."""
        groups: dict[str, dict[str, tuple[TensorPart, DType, tuple[int, ...]]]] = {}
        for spec in self.specs.values():
            for tensor in spec.tensors:
                if part := self.roles.of(tensor).part:
                    shape = sizing.shape(self.shapes[tensor])
                    groups.setdefault(part.whole, {})[tensor] = (part, self._type(spec, tensor), shape)
        arrays: dict[str, NDArray[Any]] = {}
        for group in groups.values():
            if len(group) > 1:
                whole = next(
                    (p.of for p, _, _ in group.values() if p.of.dims is not None), self._whole(group)
                )
                arrays |= generated_parts(group, sizing.shape(whole), profile, random)
        return arrays

    def _whole(self, group: Mapping[str, tuple[TensorPart, DType, tuple[int, ...]]]) -> Shape:
        """The rank of a sparse tensor, from the width of its indices or the length of its shape."""
        for tensor, (part, _, _) in group.items():
            dims = self.shapes[tensor].dims
            if part.kind in ("indices", "shape") and dims and dims[-1] is not None:
                return Shape((None,) * min(dims[-1], 8))
        return Shape((None, None))

    def _type(self, spec: TensorSpec, tensor: str) -> DType:
        if len(spec.tensors) == 1 or not self.model.has_tensor(tensor):
            return spec.dtype
        return self.model.graph.value(tensor).dtype.base

    def _shape(self, spec: TensorSpec, tensor: str) -> Shape:
        if len(spec.tensors) == 1 or not self.model.has_tensor(tensor):
            return spec.shape
        return self.model.graph.value(tensor).shape

    def _is_open(self) -> bool:
        return any(shape.dims is None or None in shape.dims for shape in self.shapes.values())

    def _floats_in_examples(self) -> bool:
        roles = self.roles.by_tensor.values()
        features = [feature for role in roles for feature in role.features]
        return any(feature.dtype.is_floating for feature in features)

    def _described(self) -> str:
        return "; ".join(f"{n} {s.dtype} {s.shape}" for n, s in self.specs.items())


def chosen(signatures: Mapping[str, Signature], names: list[str] | None, where: str) -> list[Signature]:
    """The signatures of these names; all of them if there are no names."""
    for name in names or ():
        if name not in signatures:
            raise Error(
                f"{where}: no signature `{name}`; expected one of: {', '.join(signatures) or '(none)'}"
            )
    return [signature for name, signature in signatures.items() if names is None or name in names]


# Trials with real inputs: the user's, and the warm-up requests of a model.


def user_trials(signature: Signature, user_inputs: Sequence[Mapping[str, Any]]) -> Iterator[Trial]:
    """The user's inputs that match this signature."""
    needed = set(signature.inputs) - set(signature.defaults)
    for number, arrays in enumerate(user_inputs, 1):
        if needed <= set(arrays) and (needed or set(arrays) <= set(signature.inputs)):
            inputs = {name: array for name, array in arrays.items() if name in signature.inputs}
            name = "given" if len(user_inputs) == 1 else f"given {number}"
            yield Trial(signature.name, name, GIVEN, inputs, _is_finite(inputs.values()))


def warmup_trials(signature: Signature, requests: list[WarmupRequest], default: str) -> Iterator[Trial]:
    """The warm-up requests of this signature."""
    for number, request in enumerate(requests, 1):
        if (request.signature or default) != signature.name:
            continue
        inputs = request.inputs
        if "" in inputs:  # Examples, which the server feeds to the only input
            if len(signature.inputs) != 1:
                continue
            inputs = dict.fromkeys(signature.inputs, inputs[""])
        if set(inputs) <= set(signature.inputs):
            yield Trial(signature.name, f"warm-up {number}", WARMUP, inputs, _is_finite(inputs.values()))


def _is_finite(arrays: Any) -> bool:
    flat = [part for array in arrays for part in (array if isinstance(array, tuple) else (array,))]
    floats = [a for a in map(np.asarray, flat) if a.dtype.kind in "fc"]
    return all(bool(np.isfinite(a).all()) for a in floats)
