"""NormalizeUTF8, CaseFoldUTF8, and where the bytes of a normalized text come from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.strings.byte_strings import map_strings, map_texts
from tfport.runtime.ops.text.characters import folded, normalized, normalized_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@host("NormalizeUTF8")
def normalize_utf8(input, *, normalization_form):
    form = _form(normalization_form)
    return map_texts(input, lambda text: text if text.isascii() else normalized(text, form))


def _form(name: str) -> str:
    if name.upper() not in _FORMS:
        raise RunFailed(f"normalization_form must be one of {', '.join(_FORMS)}, found `{name}`")
    return name.upper()


@host("CaseFoldUTF8")
def case_fold_utf8(input):
    return map_texts(input, lambda text: text.lower() if text.isascii() else folded(text))


class Edits(NamedTuple):
    """What changed in a text: the bytes of its parts, before and after."""

    before: NDArray[Any]
    after: NDArray[Any]
    changed: NDArray[Any]

    def sources(self, offsets: NDArray[Any]) -> NDArray[Any]:
        """Where bytes of the new text come from; within a changed part, where that part ends."""
        ends, sources = np.cumsum(self.after), np.cumsum(self.before)
        part = np.searchsorted(ends, offsets, "right")
        inner = np.minimum(part, len(ends) - 1)
        start, source = ends[inner] - self.after[inner], sources[inner] - self.before[inner]
        moved = np.where(offsets == start, source, sources[inner])
        within = np.where(self.changed[inner], moved, source + offsets - start)
        return np.where(offsets < 0, 0, np.where(part == len(ends), sources[-1], within))


@host("NormalizeUTF8WithOffsetsMap")
def normalize_utf8_with_offsets(input, *, normalization_form):
    form = _form(normalization_form)
    texts = input.reshape(-1).tolist()
    edits = np.empty(len(texts), object)
    edits[:] = [_edits(text, form) for text in texts]
    return map_strings(input, lambda text: normalized(text, form)), edits.reshape(input.shape)


def _edits(text: bytes, form: str) -> Edits:
    parts = normalized_parts(text, form)
    before = np.array([0, *(len(old) for old, _ in parts)], np.int64)
    after = np.array([0, *(len(new) for _, new in parts)], np.int64)
    return Edits(before, after, np.array([False, *(old != new for old, new in parts)]))


@host("FindSourceOffsets")
def find_source_offsets(offsets_map, input_offsets_values, input_offsets_splits):
    check_splits(input_offsets_splits, len(input_offsets_values))
    # as in TensorFlow Text, an empty row has no map
    bounds = [(a, b) for a, b in pairwise(input_offsets_splits.tolist()) if a < b]
    edits = np.atleast_1d(np.asarray(offsets_map, object)).reshape(-1)
    if len(edits) != len(bounds):
        raise RunFailed(f"found {len(edits)} offset maps for {len(bounds)} rows of offsets")
    rows = [each.sources(input_offsets_values[a:b]) for each, (a, b) in zip(edits, bounds, strict=True)]
    return np.concatenate([np.zeros(0, np.int64), *rows])
