"""A test case: a file that is meant to be an op library, how it is made and how it is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from steps import Step


@dataclass(frozen=True)
class Load:
    """How the file is loaded; by default with its absolute path, alone, by its owner."""

    path: str | None = None
    """The path that is passed to the loader."""
    folder: str = "."
    """The working directory, relative to the folder of the file."""
    library_path: str | None = None
    """LD_LIBRARY_PATH, relative to the folder of the file."""
    copy_first: bool = False
    """Whether a copy with another name is loaded first."""
    mode: str | None = None
    """The permissions of the file, as for chmod; another user than its owner loads it."""


@dataclass(frozen=True)
class Case:
    """A description, and the steps that make `CASE/op.so` or the file of another case."""

    description: str
    steps: Sequence[Step] = ()
    load: Load = field(default_factory=Load)
    calls: Sequence[str] = ("AcmeCopy",)
    """The ops to call with floats after loading."""
    file: str | None = None
