"""The types that a layer stores its weights in and computes in: `mixed_float16`, `int8_from_float32`."""

from __future__ import annotations

from collections.abc import Mapping

from tfport.errors import CannotRun
from tfport.formats.keras.records import Json
from tfport.graph.dtypes import FLOAT32, DType
from tfport.startup.dataclass import dataclass

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class DTypePolicy:
    """The types of a layer."""

    variable: DType = FLOAT32
    compute: DType = FLOAT32
    quantization: str = ""
    """`int8`, `float8`, `int4`: how the kernel is stored; empty for none."""

    @staticmethod
    def of(stored: Json) -> DTypePolicy:
        """The policy that a configuration states: a name, or an object with a name."""
        while isinstance(stored, Mapping):
            config = stored.get("config")
            stored = _name(config) if isinstance(config, Mapping) else None
        if stored in (None, "_infer", "infer", "infer_with_float32_vars", "infer_float32_vars"):
            return DTypePolicy()
        if not isinstance(stored, str):
            raise CannotRun(f"unknown dtype policy {stored!r}")
        quantization, _, base = stored.partition("_from_")
        if not base:
            quantization, base = "", stored
        if base in _MIXED:
            return DTypePolicy(FLOAT32, DType.parse(_MIXED[base]), quantization)
        try:
            dtype = DType.parse(base)
        except KeyError:
            raise CannotRun(f"unknown dtype policy `{stored}`") from None
        return DTypePolicy(dtype, dtype, quantization)


def _name(config: Mapping[str, Json]) -> Json:
    """The name of a policy; quantized ones store how, and the policy that they were made of."""
    if "mode" in config and "source_name" in config:
        return f"{config['mode']}_from_{config['source_name']}"
    return config.get("name")
