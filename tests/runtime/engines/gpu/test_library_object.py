"""Objects of C libraries."""

import ctypes

from tfport.runtime.engines.gpu.library_object import LibraryObject


def test_an_object_is_destroyed_once_when_nothing_needs_it_any_more():
    destroyed = []
    made = LibraryObject(ctypes.c_void_p(5), lambda pointer: destroyed.append(pointer.value))
    assert destroyed == []
    del made
    assert destroyed == [5]
