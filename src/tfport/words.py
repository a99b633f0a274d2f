"""Words in sentences: text from untrusted files, and numbers of things."""


def printable(text: str) -> str:
    """The text with control characters escaped, safe to print on a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def count(n: int, noun: str) -> str:
    """`1 node`, `1,200 nodes`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
