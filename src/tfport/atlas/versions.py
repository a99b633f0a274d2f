"""Sort keys of release numbers: 2.10.1 comes after 2.9.3, and 2.8.0rc1 before 2.8.0."""

from __future__ import annotations

import functools
from typing import Any, cast

from tfport.errors import Error

_FINAL, _FIRST, _COMPLETE, _PUBLIC = (1,), -1, (1, 0), (0,)
"""What a release is that is no candidate (`rc1`), has no `.post1`, no `.dev1` and no `+local`."""
_USUAL = 40
"""Longer ones may have too many digits for `int`."""


class ReleaseKey(tuple[object, ...]):
    """A release number as a tuple that sorts as `packaging.version.Version` does, and compares faster."""

    release: tuple[int, ...]
    """The numbers before any suffix: `(2, 15, 0)` for `2.15.0.post1`."""

    @property
    def major(self) -> int:
        return self.release[0]

    @property
    def is_plain(self) -> bool:
        """Whether it has no suffix."""
        return self[2:] == (_FINAL, _FIRST, _COMPLETE, _PUBLIC)

    @property
    def is_prerelease(self) -> bool:
        """Whether it is a candidate or a development version."""
        return self[2] != _FINAL or self[4] != _COMPLETE

    @property
    def is_later_build(self) -> bool:
        """Whether it is built again from a release: `2.15.0.post1` or `2.8.0+nv22.4`."""
        return self[3] != _FIRST or self[5] != _PUBLIC

    @property
    def base(self) -> ReleaseKey:
        """The release without a suffix."""
        return _key(self.release, cast("int", self[0]))


@functools.lru_cache(4096)
def version_key(version: str) -> ReleaseKey:
    """Return the sort key of a release; raise Error if it is not a release number."""
    numbers, has_post, post = version.partition(".post")
    parts = numbers.split(".")
    is_usual = len(version) <= _USUAL and version.isascii() and all(map(str.isdigit, parts))
    if is_usual and post.isdigit() == bool(has_post):
        return _key(tuple(map(int, parts)), post=int(post) if has_post else _FIRST)
    return _parsed(version)


def _parsed(version: str) -> ReleaseKey:
    from packaging.version import Version  # imported here, as few release numbers need it

    try:
        parsed = Version(version)
    except ValueError:  # InvalidVersion, or too many digits
        raise Error(f"{version!r} is not a release number; expected one such as 2.8.4") from None
    pre: tuple[Any, ...] = _FINAL
    if parsed.pre is not None:
        pre = (0, *parsed.pre)
    elif parsed.post is None and parsed.dev is not None:
        pre = (-1,)  # before all candidates
    post = _FIRST if parsed.post is None else parsed.post
    dev = _COMPLETE if parsed.dev is None else (0, parsed.dev)
    local = parsed.local.split(".") if parsed.local is not None else None
    return _key(parsed.release, parsed.epoch, pre, post, dev, _PUBLIC if local is None else _local_key(local))


def _local_key(parts: list[str]) -> tuple[Any, ...]:
    """The sort key of `+nv22.4`: numbers come after words."""
    return (1, *[(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts])


def _key(
    release: tuple[int, ...],
    epoch: int = 0,
    pre: tuple[Any, ...] = _FINAL,
    post: int = _FIRST,
    dev: tuple[int, int] = _COMPLETE,
    local: tuple[Any, ...] = _PUBLIC,
) -> ReleaseKey:
    last = len(release)
    while last and not release[last - 1]:  # 2.8 is 2.8.0
        last -= 1
    key = ReleaseKey((epoch, release[:last], pre, post, dev, local))
    key.release = release
    return key
