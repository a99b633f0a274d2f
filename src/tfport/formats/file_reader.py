"""Read the files of a model: mapped for a look, or as copies that nobody else can change.

A large file is mapped: commands that look at a model do not read its weights. But if somebody overwrites a
mapped file in place, as `cp` does, its bytes change, and an access past its new end ends the process with
SIGBUS. Whoever runs a model needs its bytes for as long as it lives: a reader that keeps its files reads
copies, in unnamed temporary files, whose pages the system can free as it frees those of a mapped file; where
the disk is full, in memory. `keep` also replaces what was mapped before, at the same addresses, so that views
of it stay valid. Nothing of this can end the process: system calls report a truncated file as an error.

    reader = FileReader(keeps=True)
    with reader.unchanged():           an error if a file is changed in the block after it was read
        view = reader.read(path)
"""

from __future__ import annotations

import io
import mmap
import os
import threading
import time
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import IO

from tfport.errors import Error, UnreadableFile
from tfport.operating_system import memory_file

MOST_READ = 4 << 20
"""Larger files are mapped or copied to temporary files."""
RESERVE = 64 * 2**20
"""This much of the disk stays free."""
CHUNK = 1 << 20
TICK, WHOLE_SECONDS = 10_000_000, 2_000_000_000
"""Nanoseconds in which a file can change without a new time: a tick of a kernel with 100 Hz, and of a file
system that stores whole seconds (FAT: every other)."""

FileState = tuple[int, int, int, int]
"""Device, inode, size and time of the last change of a file."""


class FileReader:
    """Reads files; one that keeps them knows what it has read. Any thread may use it."""

    def __init__(self, *, keeps: bool = False, is_private: bool = False) -> None:
        """`is_private`: nobody else writes to the files, so that they are as good as copies."""
        self._copies_files, self._is_private = keeps and not is_private, is_private
        self._mapped: list[tuple[weakref.ref[mmap.mmap], str, FileState]] = []
        """What was mapped before `keep`."""
        self._copies: weakref.WeakValueDictionary[str, mmap.mmap] = weakref.WeakValueDictionary()
        self._held: dict[str, memoryview] = {}
        self._states: dict[str, FileState] = {}
        """The files that were copied, as they were then."""
        self._lock = threading.Lock()

    def read(self, path: str) -> memoryview:
        """The bytes of a file. Raises OSError or ValueError; UnreadableFile if it changes meanwhile."""
        if self._copies_files:
            with self._lock:
                return self._copied(path)
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size <= MOST_READ:
                return memoryview(file.read())
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped.append((weakref.ref(mapped), path, _state(status)))
        return memoryview(mapped)

    def has(self, path: str) -> bool:
        """Whether there is a file, or was when it was copied."""
        return path in self._states or os.path.isfile(path)

    def size(self, path: str) -> int:
        """The size of a file, or what it was when it was copied. Raises OSError."""
        state = self._states.get(path)
        return os.stat(path).st_size if state is None else state[2]

    def keep(self) -> None:
        """Keep what is read from now on, and what is still used of what was mapped."""
        if self._copies_files or self._is_private:
            return
        self._copies_files = True
        for ref, path, state in self._mapped:
            if (mapped := ref()) is not None:
                _replace_pages(mapped, path, state)
        self._mapped.clear()

    def hold(self, path: str) -> None:
        """Keep a file that nothing uses yet, if files are kept."""
        if self._copies_files:
            self._held[path] = self.read(path)

    def watch(self, path: str) -> None:
        """Note the state of a file that is read later, or by somebody else."""
        if self._copies_files and (state := _state_at(path)) is not None:
            self._states.setdefault(path, state)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise an error if a file that is first read in the block changes there; also after other errors."""
        known = set(self._states)
        try:
            yield
        except Error:  # perhaps because of the change
            self.check_unchanged(known)
            raise
        self.check_unchanged(known)

    def check_unchanged(self, known: Collection[str] = ()) -> None:
        """Raise an error if a file was changed after it was read; those in `known` are not looked at."""
        for path, state in self._states.items():
            if path not in known and _state_at(path) != state:
                raise changed(path) from None

    def _copied(self, path: str) -> memoryview:
        if (known := self._copies.get(path)) is not None:
            return memoryview(known)
        with open(path, "rb", buffering=0) as file:
            state = _state(os.fstat(file.fileno()))
            if self._states.setdefault(path, state) != state:
                raise changed(path)
            _wait_for_tick(state[3])
            size = state[2]
            data = _in_memory(file, size) if size <= MOST_READ else _in_scratch_file(file)
            if len(data) != size or _state(os.fstat(file.fileno())) != state:
                raise changed(path)
        if not isinstance(data, mmap.mmap):
            return memoryview(data)
        self._copies[path] = data
        return memoryview(data)


def changed(path: str) -> UnreadableFile:
    """The error for a file that somebody writes to."""
    return UnreadableFile(
        f"{path}: changed while the model was loaded; "
        "write the files of a model elsewhere and rename their folder"
    )


def _state(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _state_at(path: str) -> FileState | None:
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def _wait_for_tick(changed_at: int) -> None:
    """Wait until any later change gives a file another time: one of the same size would not be noticed."""
    tick = TICK if changed_at % 10**9 else WHOLE_SECONDS
    remaining = changed_at + tick - time.time_ns()
    if 0 < remaining <= tick:  # a time in the future is that of another clock
        time.sleep(remaining / 1e9)


def _in_memory(file: io.RawIOBase | io.FileIO, size: int) -> mmap.mmap | bytes:
    if not size:
        return file.read() or b""  # mmap does not support empty files
    memory, at = mmap.mmap(-1, size), 0
    with memoryview(memory) as view:
        while at < size and (count := file.readinto(view[at:])):
            at += count
    return memory if at == size else b""


def _in_scratch_file(file: io.FileIO) -> mmap.mmap | bytes:
    from shutil import copyfileobj  # here, as only sessions copy files

    with scratch_file(os.fstat(file.fileno()).st_size) as copy:
        copyfileobj(file, copy, CHUNK)
        return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) if copy.tell() else b""


def scratch_file(size: int) -> IO[bytes]:
    """An unnamed file for so many bytes: on the disk if they fit, otherwise in memory."""
    import shutil
    import tempfile

    try:
        if shutil.disk_usage(tempfile.gettempdir()).free - RESERVE >= size:
            return tempfile.TemporaryFile(buffering=0)
    except OSError:  # there is no folder for temporary files
        pass
    return open(memory_file("tfport"), "w+b", buffering=0)


# Replace the pages of a mapping by a copy of them

MAP_FIXED = 0x10
"""On Linux and macOS. On Windows, a file cannot be truncated while it is mapped."""


def _replace_pages(mapped: mmap.mmap, path: str, state: FileState) -> None:
    """Map a copy at the address of a mapping. One whose file has another name now, or none, is copied too."""
    if os.name == "nt":
        return
    now = _state_at(path)
    is_same_file = now is not None and now[:2] == state[:2]
    if (is_same_file and now != state) or mapped.size() != len(mapped):
        raise changed(path)
    with memoryview(mapped) as view, scratch_file(len(view)) as copy:
        try:
            for at in range(0, len(view), CHUNK):
                copy.write(view[at : at + CHUNK])
        except OSError:  # "bad address" if it was truncated
            if mapped.size() != len(mapped):
                raise changed(path) from None
            raise
        _map_at(view, copy.fileno())


def _map_at(view: memoryview, fd: int) -> None:
    # imported here, as only sessions of models that were loaded before need them
    import ctypes

    import numpy as np

    c_mmap = ctypes.CDLL(None, use_errno=True).mmap
    c_mmap.restype = ctypes.c_void_p
    c_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = np.frombuffer(view, np.uint8).ctypes.data
    if c_mmap(address, len(view), mmap.PROT_READ, mmap.MAP_SHARED | MAP_FIXED, fd, 0) != address:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
