"""Cases whose weights are constants, as in real networks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from tests.runtime.cases import Case

WAYS = ("static", "dynamic", "fed", "host")


class Baked(Case):
    """A case whose inputs are constants, except those in `fed`.

    With `dynamic`, only the number of channels is known.
    """

    fed: tuple[int, ...] = (0,)
    wanted: int | None = None

    @functools.cached_property
    def name(self) -> str:
        return super().name + (f"-{self.wanted}" if self.wanted else "")

    def outputs(self) -> list[str]:
        return super().outputs()[: self.wanted]

    def _sizes_of(self, place: int, array: Any, way: str) -> list[int] | None:
        if way not in ("static", "dynamic"):
            return super()._sizes_of(place, array, way)
        if place not in self.fed:
            return None
        second = str(self.attrs.get("data_format", "")).startswith(("NC", "CHANNELS_FIRST"))
        channel = 1 if second else array.ndim - 1
        return [n if i and (way == "static" or i == channel) else -1 for i, n in enumerate(array.shape)]


def baked(op: str, *inputs: Any, fed: tuple[int, ...] = (0,), **attrs: Any) -> Baked:
    """A node with constant inputs, except those at the indices `fed`; `wanted`: the number of outputs."""
    wanted = attrs.pop("wanted", None)
    options = {k: attrs.pop(k) for k in ("types", "ulps", "rtol", "atol", "fails", "ways") if k in attrs}
    options.setdefault("ways", WAYS)
    arrays = [i if isinstance(i, list) else np.asarray(i) for i in inputs]
    made = Baked(op, arrays, attrs, **options)
    made.fed, made.wanted = fed, wanted
    return made
