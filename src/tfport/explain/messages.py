"""The known messages of TensorFlow and its surroundings: the tables in `known_messages`.

A row of a table lists the wordings of a message (`says`), what it means (`means`) and what to
do, the cheapest first (`ways_out`). `lookup` names a function in a module of this folder, such as
`ops.unregistered_op` in `ops.py`, which adds what the atlas records about the names in the message.

`means` is the class of the failure: it is true whatever the cause. Where several causes are possible,
the row lists them, the most frequent first:

    [[message.causes]]
    means = "Keras 3 wrote the file, and Keras 2 reads it."   # one cause, one sentence
    if = ["path:keras/engine", "keras<3"]          # any of these speaks for it
    unless = ["path:keras/src/models"]             # any of these speaks against it
    check = "`tfport inspect FILE` shows the Keras that wrote it"   # how to tell whether it is this one
    ways_out = ["load it with Keras 3"]            # what to do if it is
    needs_evidence = true                          # not even listed as possible if nothing speaks for it

A cause is named as the cause only if something speaks for it and for no other one, and nothing
against it. Otherwise the answer is "One of these", each with its check. `if` and
`unless` of the row itself decide whether the message is this row at all. What a condition can say is
in `evidence.py`.

A pattern is the message with placeholders: `Op type not registered '{op}'`. A placeholder
matches text of a kind (`KINDS`), which is its name or the name after the colon; `…`
matches any short text; a quote matches any quote or none. A text is searched for the longest
literal part of each pattern, so that long logs are fast.

In `ways_out`, `pip install {pip:numpy}` becomes `pip install 'numpy>=1.26.0,<2'`, from what the
TensorFlow in the text requires; `{pip:numpy>=1.22,<2}` has limits of its own, and is used as it is if the
text names no TensorFlow. `{pip:tf-keras}` becomes the version for that TensorFlow.

`means`, `check` and `ways_out` contain the names of all wordings: `{op}`. For a name that some wordings lack,
`«the op {op}|an op»` has the text with and without it.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfport.startup.dataclass import dataclass

TABLES = Path(__file__).with_name("known_messages")
TOPICS = (
    "training", "bindings", "plugins", "bundling", "tools", "keras_versions",
    "ops", "graphs", "graphs_in_python", "devices", "saved_models", "serving", "javascript",
    "keras_loaders", "keras_files", "keras", "weights", "lite", "lite_converter", "libraries", "compiling",
    "gpu", "packages", "installing", "converters", "running", "out_of_scope",
)  # fmt: skip
"""The tables. Explanations are listed in their order: the most specific causes first."""
KINDS_OF_ROWS = ERROR, WARNING, HARMLESS, OUT_OF_SCOPE = "error", "warning", "harmless", "out of scope"
"""A warning does not stop the program: it follows its errors. What is out of scope is only named."""
CODE = re.compile(r"TFP\d{1,6}", re.IGNORECASE)
GAP = re.compile(r"\{(\w+)(?::(\w+))?\}")
PIECE = re.compile(r"(\{\w+(?::\w+)?\}|…|')")
INNER_WORD = re.compile(r"(?<=\W)\w+(?=\W)")
"""A word with other characters on both sides."""
KINDS = {
    "op": r"[A-Za-z_][\w>]{0,200}",
    "ops": r"[A-Za-z_][\w>]{0,200}(?:, ?[A-Za-z_][\w>]{0,200}){0,40}",
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
    "shape": r"[\[(](?:[\d,? -]|None){0,100}[\])]",
    "words": r"[^'\"]{0,120}?",
}
END_OF_NAME = r"(?!\w|\.\w)"
"""What follows a last quote, which the text may lack: no more of the name."""
PIP = re.compile(r"\{pip:([a-z][a-z0-9-]*)((?:[<>=~]=?[\d.]+,?)*)\}")
"""A package in a command, which `builds.with_versions` replaces by versions that fit the TensorFlow."""
OPTIONAL = re.compile(r"«([^»|]*)\|?([^»]*)»")
GAPS = re.compile(" {2,}")
PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}")
REACH = 800
"""How far from its literal part a pattern may start or end, in characters."""


@dataclass(frozen=True)
class MessagePattern:
    """One wording of a message."""

    text: str

    @functools.cached_property
    def anchor(self) -> str:
        """The longest literal part."""
        return max((p for p in PIECE.split(self.text) if not PIECE.fullmatch(p)), key=len).strip()

    @functools.cached_property
    def word(self) -> str | None:
        """A word that every text with the anchor contains: the longest one inside it."""
        return max(INNER_WORD.findall(self.anchor), key=len, default=None)

    @functools.cached_property
    def starts_with_anchor(self) -> bool:
        return self.text.startswith(self.anchor)

    @property
    def plain(self) -> str:
        """The wording for people, with `{name}` for placeholders."""
        return GAP.sub(r"{\1}", self.text)

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        end = END_OF_NAME if self.text.endswith("'") else ""
        return re.compile("".join(map(_expression, filter(None, PIECE.split(self.text)))) + end)

    @functools.cached_property
    def in_any_case(self) -> re.Pattern[str]:
        """The same for texts that people typed, with other capitals."""
        return re.compile(self.regex.pattern, re.IGNORECASE)


def _expression(piece: str) -> str:
    if gap := GAP.fullmatch(piece):
        name, kind = gap.groups()
        inner = f"(?P<{name}>{KINDS[kind or name]})"
        return rf"(?:\{{\{{node )?{inner}(?:\}}\}})?" if name == "node" else inner
    if piece == "…":
        return ".{0,200}?"
    return "['\"]?" if piece == "'" else re.escape(piece)


def fill(text: str, names: Mapping[str, str]) -> str:
    """A text of a row with the names of a message in it; a name may be empty, as between quotes."""
    with_names = for_names(text, [name for name, value in names.items() if value])
    return GAPS.sub(" ", PIP.sub(r"{\g<0>}", with_names).format_map(names))


def for_names(text: str, names: Collection[str]) -> str:
    """A text of a row with those of its optional parts that a message with these names fills."""
    return OPTIONAL.sub(lambda part: part[1] if placeholders(part[1]) <= {*names} else part[2], text)


def placeholders(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


@dataclass(frozen=True)
class PossibleCause:
    """One of the possible causes of a message."""

    means: str
    """One sentence, with placeholders for the names in the message."""
    speaks_for: tuple[str, ...] = ()
    """Conditions (`evidence.py`), any of which speaks for it: `if` in the tables."""
    speaks_against: tuple[str, ...] = ()
    """Conditions, any of which speaks against it: `unless` in the tables."""
    check: str | None = None
    """What to look at to tell whether it is this one."""
    ways_out: tuple[str, ...] = ()
    needs_evidence: bool = False
    """Whether it is only listed if something speaks for it."""
    evidence: tuple[str, ...] = ()
    """What a lookup found in the records that speaks for it."""


@dataclass(frozen=True)
class KnownMessage:
    """A message in all its wordings, and what it means."""

    name: str
    says: tuple[MessagePattern, ...]
    means: str
    """What it means whatever the cause, with placeholders for the names in it; `lookup` may add facts."""
    ways_out: tuple[str, ...] = ()
    """What to do, the cheapest first."""
    code: str | None = None
    lookup: str | None = None
    """The function that looks up the names, as `module.function` of this package."""
    kind: str = ERROR
    only_alone: bool = False
    """Whether it only names a place, so that it is reported only if nothing else is recognized."""
    of_any_framework: bool = False
    """Whether other frameworks print it too, as messages of CUDA: its advice is for TensorFlow only."""
    instead_of: tuple[str, ...] = ()
    """The rows that describe only a consequence of this one, and are dropped if both are recognized."""
    causes: tuple[PossibleCause, ...] = ()
    """The possible causes, the most frequent first; `lookup` may add some before them."""
    only_if: tuple[str, ...] = ()
    """Conditions, any of which must hold for the text to be this message: `if` in the tables."""
    unless: tuple[str, ...] = ()
    """Conditions, none of which may hold."""


@functools.cache
def messages() -> tuple[KnownMessage, ...]:
    tables = (tomllib.loads((TABLES / f"{topic}.toml").read_text("utf-8")) for topic in TOPICS)
    return tuple(_message(**row) for table in tables for row in table["message"])


def _message(says: Sequence[str], causes: Sequence[Mapping[str, Any]] = (), **row: Any) -> KnownMessage:
    row["only_if"] = row.pop("if", ())
    patterns = tuple(map(MessagePattern, says))
    return KnownMessage(says=patterns, causes=tuple(_cause(**cause) for cause in causes), **_with_tuples(row))


def _cause(**row: Any) -> PossibleCause:
    return PossibleCause(
        speaks_for=tuple(row.pop("if", ())), speaks_against=tuple(row.pop("unless", ())), **_with_tuples(row)
    )


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def is_code(text: str) -> bool:
    """Whether a text is the code of a finding, not a message."""
    return CODE.fullmatch(text) is not None
