"""Which functions and classes a Python pickle names, without unpickling it.

A pickle is a program: it imports what it names and calls it. Its opcodes are read here, and strings followed
on the stack as far as names need it; nothing is imported or called. What comes before damage counts: `pickle`
executes up to there. So do pickles behind the first.
"""

from __future__ import annotations

import pickletools
import re
from io import BytesIO
from typing import Any

from tfport.startup.dataclass import dataclass, field

MOST_OPCODES = 200_000
MOST_PICKLES = 2000
"""Pickles in one file, and bytes that look like the start of one."""
START = re.compile(rb"\x80[\x02-\x05]")
PROTOCOLS = (b"\2", b"\3", b"\4", b"\5")
CALLS = frozenset(("REDUCE", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "BUILD"))
_TEXTS = """
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE BINUNICODE8 SHORT_BINUNICODE BINBYTES BINBYTES8
    SHORT_BINBYTES
"""
TEXTS = frozenset(_TEXTS.split())
PUTS, GETS = frozenset(("PUT", "BINPUT", "LONG_BINPUT")), frozenset(("GET", "BINGET", "LONG_BINGET"))
EXTENSIONS = frozenset(("EXT1", "EXT2", "EXT4"))
"""Functions by a number, which the program that reads the pickle has registered."""
NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(slots=True)
class PickledNames:
    """What a pickle names."""

    names: list[str] = field(default_factory=list)
    """`os.system`, in order; a name that the pickle computes is `?`."""
    calls: bool = False
    is_whole: bool = False
    """Whether it ends as a pickle does."""


def has_pickle_start(head: bytes) -> bool:
    """Whether bytes begin as a pickle of protocol 2 or later does."""
    return head[:1] == b"\x80" and head[1:2] in PROTOCOLS


def pickled_names(data: bytes | memoryview) -> PickledNames:
    """The names in a pickle up to the first damage, and in other pickles behind it.

    Whoever reads a file may call `load` again, also behind bytes that are no pickle.
    """
    content = bytes(data)
    pickled, end, opcodes = _one_pickle(content, 0, MOST_OPCODES)
    for _ in range(MOST_PICKLES):
        is_next = pickled.is_whole and is_text_pickle(content[end : end + 4096])
        following = START.search(content, end)
        if opcodes <= 0 or not (is_next or following):
            break
        start = end if is_next or following is None else following.start()
        other, after, opcodes = _one_pickle(content, start, opcodes)
        if start == end or (other.is_whole and _is_call(other)):
            pickled.names = list(dict.fromkeys((*pickled.names, *other.names)))
            pickled.calls |= other.calls
            pickled.is_whole &= other.is_whole
            end = max(after, start + 1)
        else:
            end = start + 1
    else:
        pickled.is_whole = False
    return pickled


def _one_pickle(content: bytes, start: int, most: int) -> tuple[PickledNames, int, int]:
    """The names in the pickle at `start`, where it ends or is damaged, and the opcodes left of `most`."""
    pickled = PickledNames()
    names: dict[str, None] = {}
    stack: list[str | None] = []
    memo: dict[int, str | None] = {}
    stream, end = BytesIO(content), start
    stream.seek(start)
    try:
        for opcode, argument, at in pickletools.genops(stream):
            if (most := most - 1) < 0:
                break
            name, end = opcode.name, (start if at is None else at) + 1
            if name in ("GLOBAL", "INST"):
                names[str(argument).replace(" ", ".", 1)] = None
                stack.append(None)
            elif name == "STACK_GLOBAL":
                module, attribute = ([None, None, *stack])[-2:]
                names[f"{module}.{attribute}" if module and attribute else "?"] = None
                stack[-2:] = [None]
            elif name in EXTENSIONS:
                names["?"] = None
                stack.append(None)
            elif name in PUTS or name == "MEMOIZE":
                memo[len(memo) if name == "MEMOIZE" else int(str(argument))] = stack[-1] if stack else None
            else:
                _step(name, argument, stack, memo)
            pickled.calls = pickled.calls or name in CALLS
            pickled.is_whole = name == "STOP"
    except (ValueError, UnicodeError, IndexError, KeyError, OverflowError, AttributeError, TypeError):
        pass
    pickled.names = list(names)
    return pickled, end, most


def _step(name: str, argument: Any, stack: list[str | None], memo: dict[int, str | None]) -> None:
    """Follow strings; anything else on the stack is unknown, and never two strings that were not there."""
    if name in TEXTS:
        stack.append(argument if isinstance(argument, str) else bytes(argument).decode("utf-8", "replace"))
    elif name in GETS:
        stack.append(memo.get(int(argument)))
    elif name == "POP" and stack:
        stack.pop()
    elif name == "DUP" and stack:
        stack.append(stack[-1])
    elif name not in ("PROTO", "FRAME", "MARK"):
        stack.append(None)


def is_text_pickle(head: bytes) -> bool:
    """Whether bytes are a pickle of protocol 0 or 1, without a magic number: it names and calls something."""
    if b"\n" not in head or head[:1] not in b"(cIiSVFLNl]}p0":
        return False
    return _is_call(_one_pickle(head, 0, MOST_OPCODES)[0])


def _is_call(pickled: PickledNames) -> bool:
    """Whether bytes are a pickle for sure, as they name something and call it."""
    return pickled.calls and bool(pickled.names) and all(NAME.fullmatch(name) for name in pickled.names)
