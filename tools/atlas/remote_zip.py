"""Read a remote zip file, such as a wheel, without downloading all of it.

`open_zip(url)` reads a zip file with HTTP range requests: its directory, and the members
that are needed. Two wheels can be compared by the checksums of their libraries.
"""

import io
import zipfile
from urllib.request import Request, urlopen

BLOCK = 1 << 18


class Remote(io.RawIOBase):
    """A file at a URL, read in blocks."""

    def __init__(self, url: str) -> None:
        self.url, self.at, self.blocks = url, 0, {}
        with urlopen(Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self.size, self.at + size)
        parts = []
        while self.at < end:
            number, start = divmod(self.at, BLOCK)
            part = self.block(number)[start : start + end - self.at]
            parts.append(part)
            self.at += len(part)
        return b"".join(parts)

    def block(self, number: int) -> bytes:
        if number not in self.blocks:
            last = min(self.size, (number + 1) * BLOCK) - 1
            with urlopen(Request(self.url, headers={"Range": f"bytes={number * BLOCK}-{last}"})) as answer:
                self.blocks[number] = answer.read()
        return self.blocks[number]


def open_zip(url: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(Remote(url))


def libraries(archive: zipfile.ZipFile) -> dict[str, tuple[int, int]]:
    """Return size and checksum of each shared object, by its path in the package."""
    sizes_and_crcs = {i.filename.split("purelib/")[-1]: (i.file_size, i.CRC) for i in archive.infolist()}
    return {name: mark for name, mark in sizes_and_crcs.items() if ".so" in name.rsplit("/", 1)[-1]}
