"""Send values between the server and its worker processes, large arrays without a copy of each element.

    send(connection, value, body)          a value, and files that go with it
    value, (body,) = receive(connection)

A message is a memory file with the pickled value and the contents of its arrays, which the receiver maps.
Both ends run the same code; nothing that a client sends is unpickled.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tfport.operating_system import memory_file

_ALIGNMENT = 64
_MOST_FILES = 4
_COUNT = struct.Struct("=q")


def send(connection: socket.socket, value: object, *files: MemoryFile) -> None:
    """Send a value and files."""
    message = pack(value)
    socket.send_fds(connection, [b"."], [message.fd, *(file.fd for file in files)])


def receive(connection: socket.socket) -> tuple[Any, list[MemoryFile]]:
    """Return the next value and the files that go with it; raise EOFError if the other end has closed."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1, _MOST_FILES)
    if not data:
        raise EOFError
    message, *files = (MemoryFile(fd) for fd in descriptors)
    return unpack(message), files


def pack(value: object) -> MemoryFile:
    """Write a value to a memory file: the sizes of its parts, the pickled value, and each array."""
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    _Packer(stream, protocol=5, buffer_callback=buffers.append).dump(value)
    parts = [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]
    file = MemoryFile()
    file.write(struct.pack(f"={len(parts) + 1}q", len(parts), *map(len, parts)))
    for part in parts:
        file.pad(_ALIGNMENT)
        file.write(part)
    return file


def unpack(file: MemoryFile) -> Any:
    """Read a value; its arrays use the memory of the file."""
    view = file.view()
    file.close()
    (count,) = _COUNT.unpack_from(view)
    sizes = struct.unpack_from(f"={count}q", view, _COUNT.size)
    at, parts = _COUNT.size * (count + 1), []
    for size in sizes:
        at += -at % _ALIGNMENT
        parts.append(view[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])


class _Packer(pickle.Pickler):
    """Pickles arrays of strings as two arrays: all bytes, and the length of each string."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype == object:
            texts = value.ravel().tolist()
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
            return _strings, (np.frombuffer(b"".join(texts), np.uint8), lengths, value.shape)
        return NotImplemented


def _strings(content: np.ndarray, lengths: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    # Python code per string: other threads can run meanwhile, unlike in one long call of C code
    data = memoryview(content.data)
    bounds = pairwise(accumulate(lengths.tolist(), initial=0))
    out = np.empty(len(lengths), object)
    for index, (begin, end) in enumerate(bounds):
        out[index] = bytes(data[begin:end])
    return out.reshape(shape)


class MemoryFile:
    """A growing file in memory that another process can read; the memory is freed once nothing uses it."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = memory_file("tfport") if fd is None else fd
        self.size = os.fstat(self.fd).st_size

    def __len__(self) -> int:
        return self.size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        rest = memoryview(data).cast("B")
        self.size += len(rest)
        while rest:
            rest = rest[os.write(self.fd, rest) :]

    def pad(self, multiple: int) -> None:
        """Append zeros until the size is a multiple of a number."""
        self.write(bytes(-self.size % multiple))

    def view(self) -> memoryview:
        """Return the bytes without a copy; they stay valid after `close`."""
        return memoryview(mmap.mmap(self.fd, self.size, access=mmap.ACCESS_READ) if self.size else b"")

    def close(self) -> None:
        """Free the memory, unless a view or another process uses it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()
