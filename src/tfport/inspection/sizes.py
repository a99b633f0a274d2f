"""Sizes in bytes as text."""

from __future__ import annotations


def byte_size(n: int | None) -> str:
    """`25.6 MB`; empty if unknown."""
    if n is None:
        return ""
    size = float(n)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
