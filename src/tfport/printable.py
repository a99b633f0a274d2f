"""Text from untrusted files, safe to print on a terminal."""


def printable(text: str) -> str:
    """The text with control characters escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
