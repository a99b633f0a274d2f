"""Words in sentences: text from untrusted files, numbers of things, addresses."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with control characters escaped, safe to print on a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def count(n: int, noun: str) -> str:
    """`1 node`, `1,200 nodes`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def bracketed(host: str) -> str:
    """Return a host as written before a port: IPv6 addresses need brackets."""
    return f"[{host}]" if ":" in host else host
