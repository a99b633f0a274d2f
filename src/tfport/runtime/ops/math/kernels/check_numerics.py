"""CheckNumerics: raise if a value is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


@host("CheckNumerics")
def check_numerics(tensor, *, message):
    infinite, undefined = bool(np.any(np.isinf(tensor))), bool(np.any(np.isnan(tensor)))
    kinds = [("Inf", infinite), ("NaN", undefined)]
    return _checked(tensor, message, [name for name, present in kinds if present])


@host("CheckNumericsV2")
def check_numerics_v2(tensor, *, message):
    kinds = [
        ("-Inf", bool(np.any(np.isneginf(widen(tensor))))),
        ("+Inf", bool(np.any(np.isposinf(widen(tensor))))),
        ("NaN", bool(np.any(np.isnan(tensor)))),
    ]
    return _checked(tensor, message, [name for name, present in kinds if present])


def _checked(tensor: Any, message: str, kinds: list[str]) -> Any:
    if kinds:
        raise RunFailed(f"{message} : Tensor had {' and '.join(kinds)} values")
    return tensor
