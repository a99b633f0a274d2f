"""How a table is scored: which columns feed which inputs, what is kept, what happens to rows that fail.

`BatchScorer` reads these options; they can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tfport.engine_names import USUAL
from tfport.errors import Error
from tfport.startup.dataclass import dataclass

FAIL, NULL, COLLECT = "fail", "null", "collect"
ON_ERROR = (FAIL, NULL, COLLECT)
ERROR_COLUMN = "error"
"""With `on_error="collect"`, the column that says why a row failed; null for the others."""


class RowFailed(Error):
    """A row of a table could not be scored."""

    def __init__(self, row: int, why: str, where: str = "") -> None:
        super().__init__(f"{where}row {row}: {why}")
        self.row, self.why = row, why

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFailed, (self.row, self.why)


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What is asked of a `BatchScorer`."""

    signature: str | None = None
    fetches: tuple[str, ...] = ()
    """Tensors of the graph to compute instead."""
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Inputs with the columns that feed them, where these have other names: several scalars make a vector."""
    outputs: tuple[str, ...] = ()
    """The outputs to compute (all by default)."""
    binary: tuple[str, ...] = ()
    """String outputs that are not text. Those with a name that ends in `_bytes` never are."""
    keep: tuple[str, ...] | None = None
    """Columns to copy to the results; by default those that the model does not read."""
    on_error: str = FAIL
    batch_rows: int = 0
    """Rows of a call of the model; by default measured."""
    max_bytes: int = 0
    """Memory for a call of the model, which limits its rows; by default a part of what is available."""
    threads: int | None = None
    engine: str = USUAL
    device: str = "cpu"
    server: str = ""
    """`HOST:PORT/MODEL` of a server that runs the model: processes that share a GPU ask one server."""
    cache: bool = True
    """Keep the prepared model in the folder for caches: all processes then map the same weights."""

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise Error(f"on_error={self.on_error!r}: expected {', '.join(ON_ERROR)}")
        for name in ("batch_rows", "max_bytes"):
            if getattr(self, name) < 0:
                raise Error(
                    f"{name}: expected 0 (automatic) or a positive number, found {getattr(self, name)}"
                )


def scoring_options(
    *,
    columns: Mapping[str, str | Iterable[str]] | None = None,
    outputs: str | Iterable[str] = (),
    binary: str | Iterable[str] = (),
    keep: str | Iterable[str] | None = None,
    **options: Any,
) -> ScoringOptions:
    """The options from what callers write: names alone, lists, dictionaries."""
    pairs = tuple((name, _names(value)) for name, value in (columns or {}).items())
    kept = None if keep is None else _names(keep)
    try:
        return ScoringOptions(
            columns=pairs, outputs=_names(outputs), binary=_names(binary), keep=kept, **options
        )
    except TypeError as error:
        known = ", ".join(ScoringOptions.__dataclass_fields__)
        raise Error(f"{str(error).rpartition(') ')[2]}; the options are {known}") from None


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
