"""A model to check with its options, and the exit code of `tfport check`."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.startup.dataclass import dataclass

NEVER = "never"
FAIL_ON = ("error", "unknown", "warning", "note", NEVER)
"""Each value includes those before it, except `never`."""
_WORST_FIRST = (1, 2, 0)


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
    custom: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    ops_files: tuple[str, ...] = ()


def exit_code(verdict: str | None, severities: frozenset[str], fail_on: str | None) -> int:
    """The exit code for one model; without a verdict it could not be read.

    0: the model runs. 1: it does not. 2: tfport could not decide, or could not read it. `fail_on` is
    the least serious outcome that counts as 1.
    """
    if verdict is None:
        return 2
    if fail_on == NEVER:
        return 0
    outcomes = {"error": verdict == "fails", "unknown": verdict == "unknown"}
    outcomes |= {"warning": "warning" in severities, "note": "note" in severities}
    failing = FAIL_ON[: FAIL_ON.index(fail_on or "error") + 1]
    if any(outcomes[name] for name in failing):
        return 1
    return 2 if verdict == "unknown" else 0


def worst(codes: Iterable[int]) -> int:
    """The exit code for several models; a model that fails counts more than an unreadable one."""
    present = set(codes)
    return next((code for code in _WORST_FIRST if code in present), 0)
