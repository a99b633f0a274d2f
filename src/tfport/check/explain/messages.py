"""The messages that TensorFlow and what stands around it are known to print: the table `messages.toml`, read.

A pattern there is the message itself with gaps: `Op type not registered '{op}'`. A gap
takes what its name, or the name after a colon, may look like; `…` takes anything
short; a quote may be any quote or none. Each pattern is looked for by its longest
piece of plain text, so that a long log costs little.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ERROR, HARMLESS = "error", "harmless"
CODE = re.compile(r"TFP\d{1,6}", re.IGNORECASE)
GAP = re.compile(r"\{(\w+)(?::(\w+))?\}")
PIECE = re.compile(r"(\{\w+(?::\w+)?\}|…|')")
KINDS = {
    "op": r"[A-Za-z_][\w>]{0,200}",
    "name": r"[A-Za-z_](?:[\w.<>-]{0,200}[\w>])?",
    "node": r"[^\s'\"{}\[\],;()]{1,400}",
    "number": r"-?\d{1,19}",
    "version": r"\d{1,9}(?:\.\d{1,9}){0,4}(?:rc\d{1,3})?",
    "type": r"[A-Za-z]\w{0,40}",
    "device": r"[^\s'\"]{0,200}",
    "library": r"[\w.+-]{1,200}",
    "symbol": r"\w{1,4000}",
    "path": r"[^\s'\"]{1,400}",
    "value": r"[^\s\"';]{1,100}",
    "shape": r"[\[(][\d,? ]{0,100}[\])]",
    "words": r"[^'\"]{0,120}?",
}
REACH = 800
"""How far from its plain text a pattern may begin or end."""


@dataclass(frozen=True)
class MessagePattern:
    """One wording."""

    text: str

    @functools.cached_property
    def anchor(self) -> str:
        """The longest piece of plain text."""
        return max((p for p in PIECE.split(self.text) if not PIECE.fullmatch(p)), key=len).strip()

    @functools.cached_property
    def begins_plainly(self) -> bool:
        return self.text.startswith(self.anchor)

    @property
    def plain(self) -> str:
        """The wording as a person reads it."""
        return GAP.sub(r"{\1}", self.text)

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile("".join(map(_expression, filter(None, PIECE.split(self.text)))))


def _expression(piece: str) -> str:
    if gap := GAP.fullmatch(piece):
        name, kind = gap.groups()
        inner = f"(?P<{name}>{KINDS[kind or name]})"
        return rf"(?:\{{\{{node )?{inner}(?:\}}\}})?" if name == "node" else inner
    if piece == "…":
        return ".{0,200}?"
    return "['\"]?" if piece == "'" else re.escape(piece)


@dataclass(frozen=True)
class KnownMessage:
    """One thing that is said, in all its wordings."""

    name: str
    says: tuple[MessagePattern, ...]
    means: str
    """What it means, with gaps for the names in it; `lookup` may add to it."""
    ways_out: tuple[str, ...] = ()
    """What to do, the cheapest first."""
    code: str | None = None
    lookup: str | None = None
    """The function that looks up what is recorded about these names."""
    kind: str = ERROR
    only_alone: bool = False
    """Whether it only tells where something happened, so that any other message tells more."""


@functools.cache
def messages() -> tuple[KnownMessage, ...]:
    with Path(__file__).with_name("messages.toml").open("rb") as file:
        rows = tomllib.load(file)["message"]
    return tuple(_message(**row) for row in rows)


def _message(says: list[str], ways_out: list[str] | None = None, **row: object) -> KnownMessage:
    return KnownMessage(says=tuple(map(MessagePattern, says)), ways_out=tuple(ways_out or ()), **row)  # type: ignore[arg-type]


def is_code(text: str) -> bool:
    """Whether a text is not a message but the code of a finding."""
    return CODE.fullmatch(text) is not None
