"""A model to check, and the options that apply to it."""

from __future__ import annotations

from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class CheckRequest:
    """One model, its targets, and how to check it."""

    model: str
    on: tuple[str, ...]
    device: str | None = None
    gpu: str | None = None
    delegate: str | None = None
    loaders: tuple[str, ...] | None = None
    signatures: tuple[str, ...] | None = None
    fetches: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    soft_placement: bool | None = None
    tags: tuple[str, ...] | None = None
    fail_on: str | None = None
    checksums: bool = False
    libraries: tuple[str, ...] = ()
    ops_files: tuple[str, ...] = ()
