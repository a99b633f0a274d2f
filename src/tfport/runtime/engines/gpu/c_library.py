"""C libraries whose functions return a code, and objects of them that are destroyed with those of Python."""

from __future__ import annotations

import ctypes
from typing import Any

from tfport.errors import Error


class CLibrary:
    """Calls functions of a library; a code that is not 0 is an Error."""

    def __init__(self, library: Any, described_by: str) -> None:
        """`described_by`: the function that says what a code means."""
        self._library, self._described_by = library, described_by

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            describe = getattr(self._library, self._described_by)
            describe.restype = ctypes.c_char_p
            raise Error(f"{function} fails: {describe(code).decode(errors='replace')}")

    def made(self, create: str, destroy: str, *arguments: Any) -> LibraryObject:
        """What a function creates; another one destroys it."""
        pointer = ctypes.c_void_p()
        self.call(create, ctypes.byref(pointer), *arguments)
        return LibraryObject(pointer, getattr(self._library, destroy))


class LibraryObject:
    """Holds the pointer to an object, such as a descriptor of cuDNN."""

    def __init__(self, pointer: ctypes.c_void_p, destroy: Any) -> None:
        self.pointer, self._destroy = pointer, destroy

    def __del__(self) -> None:
        self._destroy(self.pointer)
