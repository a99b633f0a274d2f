"""Find the class of the kernel that would run a node, with TensorFlow's own function.

    python kernel_class_probe.py PACKAGE < NODES

NODES has a serialized NodeDef in base64 on each line. Prints a JSON list: the class
for each, empty if none is found. It needs only the standard library, and x86-64.
"""

import base64
import ctypes
import json
import struct
import sys
from pathlib import Path

from native import load

NAME = "_ZN10tensorflow4swig18TryFindKernelClassERK"
NEW = NAME + "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD = NAME + "Ss"


class String(ctypes.Structure):
    """std::string: pointer, size, and a buffer for short strings or the capacity."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("rest", ctypes.c_char * 16))


def main(package: Path) -> None:
    find = finder(load(package))
    print(json.dumps([find(base64.b64decode(line)).decode() for line in sys.stdin]))


def finder(tf: ctypes.CDLL):
    if hasattr(tf, NEW):
        function = getattr(tf, NEW)
        function.restype, function.argtypes = None, (ctypes.c_void_p, ctypes.c_void_p)
        return lambda node: ask_new(function, node)
    function = getattr(tf, OLD)
    function.restype, function.argtypes = None, (ctypes.c_void_p, ctypes.c_void_p)
    return lambda node: ask_old(function, node)


def ask_new(function, node: bytes) -> bytes:
    """Call with the std::string of GCC 5 and later; the result is not freed, as this process ends soon."""
    text, answer = ctypes.create_string_buffer(node, len(node) + 1), String()
    question = String(ctypes.addressof(text), len(node), struct.pack("Q", len(node)))
    function(ctypes.addressof(answer), ctypes.addressof(question))
    return ctypes.string_at(answer.data, answer.size)


def ask_old(function, node: bytes) -> bytes:
    """Call with the older std::string: a pointer to the text, preceded by size, capacity and owners."""
    record = struct.pack("QQq", len(node), len(node), 0) + node
    buffer = ctypes.create_string_buffer(record, len(record) + 1)
    question, answer = ctypes.c_void_p(ctypes.addressof(buffer) + 24), ctypes.c_void_p()
    function(ctypes.addressof(answer), ctypes.addressof(question))
    size = ctypes.c_size_t.from_address(answer.value - 24).value
    return ctypes.string_at(answer.value, size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
