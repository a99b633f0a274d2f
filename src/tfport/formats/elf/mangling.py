"""Demangle C++ names with LLVM's demangler, safely.

A malicious name of some hundred characters can expand to gigabytes of text or overflow the
stack. Of such a name only the qualified name is read, without its parameters.
"""

from __future__ import annotations

import functools
import re

import pycxxfilt

LONGEST = 4096
MOST_TEXT = 5e7
"""The most text in the worst case, where each back-reference repeats everything before it."""
_REPEAT = re.compile(r"S[0-9A-Z]*_|T[0-9]*_")
_BEFORE_PATH = re.compile(r"_ZT[VISTh]?N?K?|_ZGVN?|_ZNK?|_Z")
_SIZE = re.compile(r"\d{1,4}")
_ABI_TAG = re.compile(r"\[abi:\w+\]")
_STRING = re.compile(
    r"std::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char>\s?>"
)
_ABOUT = re.compile(
    r"(vtable|typeinfo|typeinfo name|VTT|guard variable|non-virtual thunk|virtual thunk) (?:for|to) "
)


@functools.lru_cache(1 << 16)
def demangled(symbol: str) -> str:
    """The part of a demangled name that can be read; the symbol itself if it is not a C++ name."""
    if not symbol.startswith("_Z"):
        return symbol
    repeats = len(_REPEAT.findall(symbol))
    if len(symbol) > LONGEST or len(symbol) * 3 ** (repeats / 3) > MOST_TEXT:
        return _path(symbol)
    try:
        return pycxxfilt.itanium_demangle(symbol) or symbol
    except ValueError:
        return _path(symbol)


def _path(symbol: str) -> str:
    """The names at the start of a symbol, each preceded by its length."""
    start = _BEFORE_PATH.match(symbol)
    parts, end = list[str](), start.end() if start else len(symbol)
    while size := _SIZE.match(symbol, end):
        end = size.end() + int(size[0])
        parts.append(symbol[size.end() : end])
    return "::".join(parts) or symbol


def readable(symbol: str) -> str:
    """The demangled name with `std::string` shortened: `tensorflow::Env::NewFile(std::string const&)`."""
    return _STRING.sub("std::string", demangled(symbol))


def short_name(symbol: str) -> str:
    """The name without its parameters: `tensorflow::OpKernel::TraceString`."""
    name = _ABI_TAG.sub("", readable(symbol)).replace("(anonymous namespace)", "{anonymous}")
    return name.partition("(")[0]


def owner(symbol: str) -> str:
    """The outermost namespace or class of a name; the name itself if there is none."""
    name = _ABOUT.sub("", short_name(symbol))
    before_arguments = name.partition("<")[0]
    return before_arguments.partition("::")[0].split(" ")[-1]


def about_class(symbol: str) -> str:
    """`vtable` or `typeinfo` for the data that the compiler generates for a class; else empty."""
    match = _ABOUT.match(demangled(symbol))
    return match[1] if match else ""
