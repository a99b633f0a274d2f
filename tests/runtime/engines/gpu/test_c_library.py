"""C libraries and their objects."""

import ctypes

import pytest

from tfport.errors import Error
from tfport.runtime.engines.gpu.cuda_libraries import CLibrary, LibraryObject


def test_an_object_is_destroyed_once_when_nothing_needs_it_any_more():
    destroyed = []
    made = LibraryObject(ctypes.c_void_p(5), lambda pointer: destroyed.append(pointer.value))
    assert destroyed == []
    del made
    assert destroyed == [5]


class Library:
    """Makes the object 7 and destroys it; all else fails."""

    def __init__(self):
        self.destroyed = []

    def create(self, pointer, size):
        pointer._obj.value = size
        return 0

    def destroy(self, pointer):
        self.destroyed.append(pointer.value)

    def fails(self):
        return 3

    @property
    def describe(self):
        return lambda code: b"NOT_SUPPORTED" if code == 3 else b""


def test_what_is_made_is_destroyed():
    library = Library()
    made = CLibrary(library, "describe").create("create", "destroy", 7)
    assert made.pointer.value == 7
    del made
    assert library.destroyed == [7]


def test_a_code_is_an_error_that_says_what_it_means():
    with pytest.raises(Error, match="fails fails: NOT_SUPPORTED"):
        CLibrary(Library(), "describe").call("fails")
