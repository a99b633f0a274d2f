"""Words in sentences: text from untrusted files, numbers of things, sizes, addresses."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with control characters escaped, safe to print on a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def count(n: int, noun: str) -> str:
    """`1 node`, `1,200 nodes`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


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


def bracketed(host: str) -> str:
    """Return a host as written before a port: IPv6 addresses need brackets."""
    return f"[{host}]" if ":" in host else host
