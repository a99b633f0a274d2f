"""A case: a file that someone takes for an op library, how it is made and how it is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from steps import Step


@dataclass(frozen=True)
class Load:
    """How the file is loaded: by its whole path, alone, by its owner, unless this says otherwise."""

    given: str | None = None
    """The path as it is passed."""
    folder: str = "."
    """Where the process stands, seen from the folder of the file."""
    library_path: str | None = None
    """LD_LIBRARY_PATH, seen from there too."""
    copy_first: bool = False
    """Whether a copy of it, under another name, is loaded before."""
    mode: str | None = None
    """Permissions of the file, as chmod takes them; who loads it does not own it then."""


@dataclass(frozen=True)
class Case:
    """What is wrong, if anything; steps that make `CASE/op.so`, or another case's file."""

    about: str
    steps: Sequence[Step] = ()
    load: Load = field(default_factory=Load)
    calls: Sequence[str] = ("AcmeCopy",)
    """Ops to call with floats once it is loaded."""
    file: str | None = None
