"""Files that were dropped into the page: in a temporary folder, bounded, with plain names only.

The browser sends each file with its path below the dropped folder. A path is accepted only if each part is
an ordinary name; nothing is overwritten, and no link is followed, as an upload has only folders and files
that were made here.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from tfport.web.json_answer import RefusedRequest, bad_request, unknown

MOST_UPLOADS, MOST_FILES, DEEPEST, LONGEST_NAME = 100, 10_000, 16, 200
TOO_LARGE = 413
STRANGE = re.compile(r"[\x00-\x1f\x7f/\\]")


class Uploads:
    """The uploads of a server."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder, self._most = folder, most_bytes
        self._temporary = re.compile(re.escape(os.fsencode(folder)) + rb"/[0-9a-f]{16}(?:/|(?![\w.-]))")
        self._files: dict[str, int] = {}
        self._bytes = 0

    def new(self) -> str:
        """Begin an upload; its name."""
        if len(self._files) >= MOST_UPLOADS:
            raise RefusedRequest(
                TOO_LARGE, f"there are already {MOST_UPLOADS} uploads; start `tfport ui` again"
            )
        name = secrets.token_hex(8)
        (self._folder / name).mkdir(parents=True)
        self._files[name] = 0
        return name

    async def add(self, upload: str, path: str, chunks: AsyncIterator[bytes]) -> None:
        """Write a file of an upload; what is too large is removed again."""
        target = self._place(upload, path)
        written = 0
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("xb") as file:
                async for chunk in chunks:
                    written += len(chunk)
                    if self._bytes + written > self._most:
                        raise RefusedRequest(
                            TOO_LARGE, f"uploads are limited to {self._most:,} bytes; --max-upload raises it"
                        )
                    file.write(chunk)
        except FileExistsError:
            raise bad_request(f"{path}: this file was sent already") from None
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        self._bytes += written
        self._files[upload] += 1

    def with_own_names(self, answer: bytes) -> bytes:
        """An answer that shows uploaded files as the user knows them, without the folder that holds them."""
        return self._temporary.sub(b"", answer)

    def _place(self, upload: str, path: str) -> Path:
        if upload not in self._files:
            raise unknown(f"there is no upload {upload}")
        if self._files[upload] >= MOST_FILES:
            raise RefusedRequest(TOO_LARGE, f"an upload has at most {MOST_FILES:,} files")
        parts = path.split("/")
        if len(parts) > DEEPEST or not all(map(_is_plain, parts)):
            raise bad_request("expected the path of a file below the dropped folder, without `..`")
        return self._folder.joinpath(upload, *parts)

    def model_path(self, upload: str) -> str:
        """What was dropped: the only file or folder of the upload, or all of them together."""
        if upload not in self._files:
            raise unknown(f"there is no upload {upload}")
        entries = sorted(os.listdir(self._folder / upload))
        if not entries:
            raise bad_request("the upload is empty")
        folder = self._folder / upload
        return str(folder / entries[0] if len(entries) == 1 else folder)


def _is_plain(part: str) -> bool:
    try:
        short = len(part.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False
    return bool(part) and part not in (".", "..") and short and not STRANGE.search(part)
