"""Generate arrays of a dtype and shape, with ordinary values and edge cases.

A profile describes the floats, integers and strings of an array. `trials` chooses the shapes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tfport.errors import Error
from tfport.fix.certify.compare import is_float, step_at_one
from tfport.graph.dtypes import DType
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

Random = np.random.Generator
MOST_ELEMENTS = 1 << 26
WORDS = (b"a", b"the quick brown fox", b"7", b"-3.25", b"Tokyo", b"x_y.z", b"0", b"one, two; three")
UNICODE = tuple(text.encode() for text in ("héllo", "東京", "🙂 ok", "Ελλάδα", "e\u0301", "ﬁ", "İI"))
NO_TEXT = (b"\xff\xfe", b"a\0b", b"\xc3", b"\xed\xa0\x80", b"\0", b"\x80abc")
LARGE = {"float16": 1e3, "bfloat16": 1e6, "float32": 1e6, "float64": 1e6, "complex64": 1e6, "complex128": 1e6}


@dataclass(frozen=True, slots=True)
class ValueProfile:
    """A kind of generated values."""

    name: str
    number: Callable[[Random, tuple[int, ...], np.dtype[Any]], Any]
    whole: tuple[int, int]
    """The least and the greatest integer, clipped to the range of the dtype."""
    texts: tuple[bytes, ...]
    finite: bool = True
    """Whether every number is finite."""
    padded: bool = False
    """Whether rows end in zeros or empty strings, as sequences of different lengths do."""
    parts: tuple[ValueProfile, ...] = ()
    """Profiles whose values an array has side by side; then nothing else here says what they are."""

    def with_words(self, words: Sequence[bytes]) -> ValueProfile:
        """The same, with these words among the ordinary strings: alone, within others, in phrases."""
        if self.parts:
            return replace(self, parts=tuple(part.with_words(words) for part in self.parts))
        if not words or self.texts is not WORDS:
            return self
        inside = [b"%sx%s" % (a, b) for a, b in zip(words, reversed(words), strict=True)]
        return replace(self, texts=(*words, *inside, b" ".join(words[:5]), *self.texts[:4]))

    @property
    def huge(self) -> bool:
        """Whether its integers would be large sizes."""
        return self.whole[1] > 9


def _normal(scale: float) -> Callable[[Random, tuple[int, ...], np.dtype[Any]], Any]:
    return lambda random, shape, dtype: random.standard_normal(shape) * scale


def _same(number: float) -> Callable[[Random, tuple[int, ...], np.dtype[Any]], Any]:
    return lambda random, shape, dtype: np.full(shape, number)


def _large(random: Random, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return random.standard_normal(shape) * LARGE.get(dtype.name, 4)


def _tiny(random: Random, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # not so small that products are denormal: engines are a hundred times slower for those
    return random.standard_normal(shape) * step_at_one(dtype)


def _some_zeros(random: Random, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return random.standard_normal(shape) * random.integers(0, 2, shape, endpoint=True).clip(0, 1)


def _not_finite(random: Random, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return random.choice([np.nan, np.inf, -np.inf, 1.0, -2.0, 0.0], shape)


GREAT = 2**63 - 1
ORDINARY = ValueProfile("ordinary", _normal(1), (0, 1), WORDS)
PROFILES = (
    ValueProfile("padded", _normal(1), (0, 3), WORDS, padded=True),
    ValueProfile("some zeros", _some_zeros, (0, 2), WORDS),
    ValueProfile("positive", lambda random, shape, dtype: random.random(shape), (0, 9), WORDS),
    ValueProfile("zeros", _same(0), (0, 0), (b"",)),
    ValueProfile("ones", _same(1), (1, 1), (b"1",)),
    ValueProfile("negative", lambda random, shape, dtype: -3 * random.random(shape), (-5, -1), UNICODE),
    ValueProfile(
        "wide", lambda random, shape, dtype: random.integers(0, 256, shape), (0, 999), (b"", *UNICODE)
    ),
    ValueProfile("tiny", _tiny, (0, 2), (b" ", b"\n", b"")),
    ValueProfile("large", _large, (-GREAT, GREAT), (b"long " * 2000, b"9" * 400)),
    ValueProfile("not finite", _not_finite, (0, 1), NO_TEXT, finite=False),
)
"""The edge cases, from those that most models accept to those that few do."""
TOGETHER = ("some zeros", "positive", "zeros", "ones", "negative", "tiny")
MIXED = replace(
    ORDINARY, name="mixed", parts=(ORDINARY, *(profile for profile in PROFILES if profile.name in TOGETHER))
)
"""The values of several profiles side by side, for models whose calls take long."""
APART = ("padded", "zeros", "wide", "large")
"""What values side by side do not tell: where rows end, an input of zeros, numbers that outweigh others."""


def seed_for(*what: object) -> int:
    """A seed that depends only on the arguments."""
    seed = hashlib.sha256("\0".join(map(str, what)).encode()).digest()
    return int.from_bytes(seed[:8], "little")


def array_of(
    dtype: DType,
    shape: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
    narrowest: np.dtype[Any] | None = None,
) -> NDArray[Any]:
    """An array with values of a profile; large numbers must not overflow the narrowest type of a model."""
    if math.prod(shape) > MOST_ELEMENTS:
        raise Error(f"a tensor of shape {list(shape)} is too large to generate; pass one with --inputs")
    if profile.parts:
        sizes = map(len, np.array_split(np.empty(math.prod(shape), bool), len(profile.parts)))
        pairs = zip(profile.parts, sizes, strict=True)
        arrays = [array_of(dtype, (size,), part, random, narrowest) for part, size in pairs]
        return np.concatenate(arrays).reshape(shape)
    try:
        numpy_type = dtype.numpy
    except KeyError:
        raise Error(f"cannot generate inputs of dtype {dtype}") from None
    if numpy_type.kind == "O":
        return _strings(shape, profile, random)
    if numpy_type.kind == "b":
        same = profile.whole[0] == profile.whole[1]
        return np.full(shape, profile.whole[0], bool) if same else random.random(shape) < 0.5
    if not is_float(numpy_type):
        return _whole(numpy_type, shape, profile, random)
    inside = numpy_type if narrowest is None else narrowest
    with np.errstate(all="ignore"):
        numbers = np.asarray(profile.number(random, shape, inside))
        if numpy_type.kind == "c":
            numbers = numbers + 1j * np.asarray(profile.number(random, shape, inside))
        return numbers.astype(numpy_type)


def with_padding(array: NDArray[Any]) -> NDArray[Any]:
    """The same, with rows that are half empty, empty and full in turn; the same rows in each input."""
    if array.ndim < 2:
        return array
    length = array.shape[1]
    padded = array.copy()
    for row in range(len(array)):
        kept = ((length + 1) // 2, 0, length)[row % 3]
        padded[row, kept:] = b"" if array.dtype == object else np.zeros((), array.dtype)
    return padded


def ids_below(limit: int, dtype: DType, shape: tuple[int, ...], random: Random) -> NDArray[Any]:
    """Indices of a table with this many rows."""
    return random.integers(0, max(limit, 1), shape).astype(dtype.numpy)


def _whole(
    dtype: np.dtype[Any], shape: tuple[int, ...], profile: ValueProfile, random: Random
) -> NDArray[Any]:
    info = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    low, high = (int(min(max(edge, info.min), info.max)) for edge in profile.whole)
    high = min(high, GREAT)
    return random.integers(low, high, shape, np.int64, endpoint=True).astype(dtype)


def _strings(shape: tuple[int, ...], profile: ValueProfile, random: Random) -> NDArray[Any]:
    flat = np.empty(math.prod(shape), object)
    flat[:] = [profile.texts[i] for i in random.integers(0, len(profile.texts), flat.size)]
    return flat.reshape(shape)
