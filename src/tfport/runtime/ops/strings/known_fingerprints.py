"""Fingerprints of strings of which many were hashed before.

Words, n-grams and padding repeat, within a text and in the next one, so the fingerprints of short strings are
kept. Others are computed one by one if there are few of them, and else all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.ops.strings.fingerprints import fingerprint64
from tfport.runtime.ops.strings.short_fingerprints import LONGEST, short_fingerprint64

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 24
"""Up to this many short strings are hashed one by one."""
MOST_KNOWN = 1 << 14
"""When there would be more than this many fingerprints, the known ones are forgotten."""


class KnownFingerprints:
    """FarmHash's Fingerprint64 of strings; those of short ones are kept."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}

    def of(self, strings: Sequence[bytes]) -> NDArray[Any]:
        """The fingerprint of each string."""
        known = self.known  # another thread may replace it; none removes anything from it
        try:
            return np.array([known[string] for string in strings], np.uint64)
        except KeyError:
            missing = list(dict.fromkeys(string for string in strings if string not in known))
        new = dict(zip(missing, _computed(missing), strict=True))
        self._keep({string: new[string] for string in missing if len(string) <= LONGEST})
        return np.array([new[s] if s in new else known[s] for s in strings], np.uint64)

    def _keep(self, new: dict[bytes, int]) -> None:
        if len(self.known) + len(new) <= MOST_KNOWN:
            self.known.update(new)
        else:
            self.known = new if len(new) <= MOST_KNOWN else {}


def _computed(strings: Sequence[bytes]) -> list[int]:
    if len(strings) <= FEW and max(map(len, strings)) <= LONGEST:
        return [short_fingerprint64(string) for string in strings]
    fingerprints: list[int] = fingerprint64(strings).tolist()
    return fingerprints


FINGERPRINTS = KnownFingerprints()
