"""CheckNumerics: stop at values that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


@host("CheckNumerics")
def check_numerics(tensor, *, message):
    infinite, undefined = bool(np.any(np.isinf(tensor))), bool(np.any(np.isnan(tensor)))
    found = [name for name, there in (("Inf", infinite), ("NaN", undefined)) if there]
    return _checked(tensor, message, found)


@host("CheckNumericsV2")
def check_numerics_v2(tensor, *, message):
    kinds = [
        ("-Inf", bool(np.any(np.isneginf(widen(tensor))))),
        ("+Inf", bool(np.any(np.isposinf(widen(tensor))))),
        ("NaN", bool(np.any(np.isnan(tensor)))),
    ]
    return _checked(tensor, message, [name for name, there in kinds if there])


def _checked(tensor: Any, message: str, found: list[str]) -> Any:
    if found:
        raise RunFailed(f"{message} : Tensor had {' and '.join(found)} values")
    return tensor
