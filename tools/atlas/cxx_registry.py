"""The registries of releases that do not show them in C, asked through C++.

Until 1.2 the C API is hidden, and until 1.10 it cannot list kernels. The C++
functions under it are exported, and called here by their mangled names. What they
return lies in memory as the compilers of those releases (GCC 4, the old string)
laid it out on x86-64.
"""

import ctypes

OBJECT = 1 << 14  # bytes: more than any object that is made here has
Pointer = ctypes.c_void_p


def function(tf: ctypes.CDLL, name: str, result: object, *arguments: object):
    """An exported C++ function."""
    symbol = getattr(tf, name)
    symbol.restype, symbol.argtypes = result, arguments
    return symbol


def op_list(tf: ctypes.CDLL) -> bytes:
    """An OpList, as `TF_GetAllOpList` gives it."""
    ops = ctypes.create_string_buffer(OBJECT)
    here = ctypes.addressof(ops)
    function(tf, "_ZN10tensorflow6OpListC1Ev", None, Pointer)(here)
    registry = function(tf, "_ZN10tensorflow10OpRegistry6GlobalEv", Pointer)()
    export = "_ZNK10tensorflow10OpRegistry6ExportEbPNS_6OpListE"
    function(tf, export, None, Pointer, ctypes.c_bool, Pointer)(registry, True, here)
    return serialized(tf, "6OpList", here)


def kernel_list(tf: ctypes.CDLL) -> bytes:
    """A KernelList: the registry is an unordered_multimap from a key to a KernelDef and its factory."""
    registry = function(tf, "_ZN10tensorflow20GlobalKernelRegistryEv", Pointer)()
    node, count = word(registry + 16), word(registry + 24)  # after the buckets and their number
    entries = []
    while node:  # each has the next one, the key (a pointer), the KernelDef
        definition = serialized(tf, "9KernelDef", node + 16)
        entries.append(b"\x0a" + varint(len(definition)) + definition)
        node = word(node)
    assert len(entries) == count, f"{len(entries)} kernels of {count}"
    return b"".join(entries)


def serialized(tf: ctypes.CDLL, kind: str, message: int) -> bytes:
    """The bytes of a protobuf message: its size is asked first, which also prepares the writing."""
    size = function(tf, f"_ZNK10tensorflow{kind}12ByteSizeLongEv", ctypes.c_size_t, Pointer)(message)
    out = ctypes.create_string_buffer(size + 1)
    write = f"_ZNK10tensorflow{kind}39InternalSerializeWithCachedSizesToArrayEbPh"
    function(tf, write, Pointer, Pointer, ctypes.c_bool, Pointer)(message, False, ctypes.addressof(out))
    return out.raw[:size]


def load_library(tf: ctypes.CDLL, path: str) -> tuple[bytes, str]:
    """The OpList of an op library, or what TensorFlow says."""
    status, handle, content = ctypes.create_string_buffer(64), Pointer(), Pointer()
    length = ctypes.c_size_t()
    places = [ctypes.byref(handle), ctypes.byref(content), ctypes.byref(length)]
    load = function(tf, "_ZN10tensorflow11LoadLibraryEPKcPPvPPKvPm", Pointer)
    load.argtypes = None
    load(ctypes.byref(status), path.encode(), *places)
    if state := word(ctypes.addressof(status)):  # a code, then the message
        return b"", old_string(state + 8)
    return ctypes.string_at(content, length.value), ""


def new_session(tf: ctypes.CDLL) -> None:
    options = ctypes.create_string_buffer(OBJECT)
    function(tf, "_ZN10tensorflow14SessionOptionsC1Ev", None, Pointer)(ctypes.addressof(options))
    make = function(tf, "_ZN10tensorflow10NewSessionERKNS_14SessionOptionsE", Pointer, Pointer)
    assert make(ctypes.addressof(options)), "no session"


def old_string(at: int) -> str:
    """A string before C++11: a pointer to the characters, their number three words before them."""
    start = word(at)
    return ctypes.string_at(start, word(start - 24)).decode(errors="replace")


def word(at: int) -> int:
    return ctypes.c_uint64.from_address(at).value


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])
