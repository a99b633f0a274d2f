"""The first lines of an asset or vocabulary, bounded."""

from __future__ import annotations

from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.saved_model.read import ASSETS
from tfport.graph.model import Model
from tfport.graph.state import assets
from tfport.web.graph_view.columns import VERSION

MOST_BYTES = 256 << 10
MOST_LINES = 200
LONGEST = 500


def asset_peek(model: Model, file: str) -> dict[str, Any]:
    """The first lines of a file that the model names as an asset; None instead of lines if it is no text."""
    data = _bytes(model, file)
    head = bytes(data[:MOST_BYTES])
    is_whole = len(head) == len(data)
    text = _text(head, is_whole)
    lines = text.splitlines() if text is not None else None
    return {
        "version": VERSION,
        "file": file,
        "bytes": len(data),
        "lines": None if lines is None else [line[:LONGEST] for line in lines[:MOST_LINES]],
        "more": not is_whole or (lines is not None and len(lines) > MOST_LINES),
    }


def _bytes(model: Model, file: str) -> memoryview | bytes:
    if model.keras is not None and file in model.keras.assets:
        return model.keras.assets[file]
    known = next((asset for asset in assets(model) if asset.file == file), None)
    if known is None or known.nbytes is None or ".." in file.split("/") or file.startswith("/"):
        raise UnreadableFile(f"{model.where}: there is no asset `{file}`")
    return model.files.map(f"{ASSETS}/{file}")


def _text(head: bytes, is_whole: bool) -> str | None:
    """The text in the first bytes of a file, up to its last whole line; None if it is not text."""
    if b"\0" in head:
        return None
    if not is_whole:
        head = head[: head.rfind(b"\n") + 1] or head
    for cut in range(4):  # a character may be cut at the end
        try:
            return head[: len(head) - cut].decode()
        except UnicodeDecodeError:
            if is_whole:
                return None
    return None
