"""Text from a stranger's file, safe to print."""


def printable(text: str) -> str:
    """The text with what would move a terminal's cursor spelled out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
