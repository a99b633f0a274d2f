"""Custom calls of StableHLO programs that do not need a device library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.xla.stablehlo.elementwise import total_order


def _same(op: HloOp, *inputs: Any) -> list[Any]:
    return list(inputs[: len(op.results)])


def _assertion(op: HloOp, holds: Any, *inputs: Any) -> list[Any]:
    if not bool(holds):
        raise RunFailed("an assertion of the program about the shapes of its inputs failed")
    return []


def _top_k(op: HloOp, x: Any) -> list[Any]:
    """The k largest elements of each row and their indices; the first of equal ones."""
    attributes = op.attrs["mhlo.attributes"]
    keys = total_order(x) if x.dtype.kind in "fV" else x.astype(np.int64)
    keys = ~keys if attributes.get("largest", True) else keys
    places = np.argsort(keys, axis=-1, kind="stable")[..., : int(attributes["k"])]
    return [np.take_along_axis(x, places, -1), places]


def _of(function: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    def call(op: HloOp, x: Any) -> list[Any]:
        wide = widen(x)
        return [function(wide)]

    return call


def _erf(x: Any) -> Any:
    from scipy.special import erf

    return erf(x)


def _erf_inv(x: Any) -> Any:
    from scipy.special import erfinv

    return erfinv(x)


CUSTOM: dict[str, Callable[..., list[Any]]] = {
    **dict.fromkeys(
        (
            "Sharding",
            "SPMDFullToShardShape",
            "SPMDShardToFullShape",
            "annotate_device_placement",
            "LayoutConstraint",
        ),
        _same,
    ),
    "shape_assertion": _assertion,
    "mhlo.erf": _of(_erf),
    "mhlo.erf_inv": _of(_erf_inv),
    "mhlo.acos": _of(np.arccos),
    "mhlo.acosh": _of(np.arccosh),
    "mhlo.asin": _of(np.arcsin),
    "mhlo.asinh": _of(np.arcsinh),
    "mhlo.atan": _of(np.arctan),
    "mhlo.atanh": _of(np.arctanh),
    "mhlo.cosh": _of(np.cosh),
    "mhlo.sinh": _of(np.sinh),
    "mhlo.tan": _of(np.tan),
    "mhlo.topk": _top_k,
}
