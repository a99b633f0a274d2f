"""An object of a C library that is destroyed with the Python object for it."""

from __future__ import annotations

import ctypes
from typing import Any


class LibraryObject:
    """Holds the pointer to an object, such as a descriptor of cuDNN."""

    def __init__(self, pointer: ctypes.c_void_p, destroy: Any) -> None:
        self.pointer, self._destroy = pointer, destroy

    def __del__(self) -> None:
        self._destroy(self.pointer)
