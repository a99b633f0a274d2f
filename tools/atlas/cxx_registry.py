"""Read the registries of old releases through C++ functions.

Until 1.2 the C API is not exported, and until 1.10 it cannot list kernels. The C++
functions below it are exported, and called here by their mangled names. Results have
the memory layout of the compilers of those releases (GCC 4, old strings) on x86-64.
"""

import ctypes

OBJECT = 1 << 14  # bytes: larger than any object created here
Pointer = ctypes.c_void_p


def function(tf: ctypes.CDLL, name: str, result: object, *arguments: object):
    """Return an exported C++ function."""
    symbol = getattr(tf, name)
    symbol.restype, symbol.argtypes = result, arguments
    return symbol


def op_list(tf: ctypes.CDLL) -> bytes:
    """Return an OpList, like `TF_GetAllOpList`."""
    ops = ctypes.create_string_buffer(OBJECT)
    here = ctypes.addressof(ops)
    function(tf, "_ZN10tensorflow6OpListC1Ev", None, Pointer)(here)
    registry = function(tf, "_ZN10tensorflow10OpRegistry6GlobalEv", Pointer)()
    export = "_ZNK10tensorflow10OpRegistry6ExportEbPNS_6OpListE"
    function(tf, export, None, Pointer, ctypes.c_bool, Pointer)(registry, True, here)
    return serialized(tf, "6OpList", here)


def kernel_list(tf: ctypes.CDLL) -> bytes:
    """Return a KernelList; the registry is an unordered_multimap to KernelDefs and their factories."""
    registry = function(tf, "_ZN10tensorflow20GlobalKernelRegistryEv", Pointer)()
    node, count = word(registry + 16), word(registry + 24)  # after the buckets and their number
    entries = []
    while node:  # each node has a pointer to the next one, the key (a pointer), the KernelDef
        definition = serialized(tf, "9KernelDef", node + 16)
        entries.append(b"\x0a" + varint(len(definition)) + definition)
        node = word(node)
    assert len(entries) == count, f"{len(entries)} kernels of {count}"
    return b"".join(entries)


def serialized(tf: ctypes.CDLL, kind: str, message: int) -> bytes:
    """Serialize a protobuf message; computing its size first also prepares writing."""
    size = function(tf, f"_ZNK10tensorflow{kind}12ByteSizeLongEv", ctypes.c_size_t, Pointer)(message)
    out = ctypes.create_string_buffer(size + 1)
    write = f"_ZNK10tensorflow{kind}39InternalSerializeWithCachedSizesToArrayEbPh"
    function(tf, write, Pointer, Pointer, ctypes.c_bool, Pointer)(message, False, ctypes.addressof(out))
    return out.raw[:size]


def load_library(tf: ctypes.CDLL, path: str) -> tuple[bytes, str]:
    """Return the OpList of an op library, or TensorFlow's error message."""
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
    """Read a pre-C++11 string: a pointer to the characters; their number is three words before them."""
    start = word(at)
    return ctypes.string_at(start, word(start - 24)).decode(errors="replace")


def word(at: int) -> int:
    return ctypes.c_uint64.from_address(at).value


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])
