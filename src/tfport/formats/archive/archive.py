"""An archive as a tree of files, without extracting it; `open` recognizes one.

Members are mapped bytes, never files with the names from the archive, so nothing
can be written outside of it. What is refused, and when:

- at once: names that are absolute or contain `..`, more than `MOST_MEMBERS`
  members, names too long or too deep for any file system;
- when read: links to targets outside the archive, devices, encrypted members, and
  members that unpack to more than they declare or than `unpack` allows.
"""

from __future__ import annotations

import mmap
import posixpath
import weakref
from collections.abc import Callable, Iterable

from tfport.errors import UnreadableFile
from tfport.formats.file_reader import FileReader
from tfport.formats.files import Files
from tfport.startup.dataclass import dataclass, field

MOST_MEMBERS = 100_000
LONGEST_NAME = 1024
DEEPEST_NAME = 64
MOST_LINKS = 16
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")  # gzip, bzip2, xz


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its size and how to read it, or the target of a link."""

    size: int
    read: Callable[[], memoryview | mmap.mmap | bytes]
    target: str | None = None
    packed: int | None = None
    """The compressed size; None if it is not compressed on its own."""
    other_name: str = ""
    """The name in the header before its data, if the directory of a zip file has another."""


Entries = Iterable[tuple[str, Member | None]]
"""The names of an archive as they are stored, also unsafe ones, with the members; None for a folder."""


@dataclass(slots=True)
class Tree:
    """The members by name, and the contents of each folder."""

    members: dict[str, Member] = field(default_factory=dict)
    folders: dict[str, tuple[set[str], set[str]]] = field(default_factory=lambda: {"": (set(), set())})
    repeated: set[str] = field(default_factory=set)
    """Names that several members have; the last one counts."""
    mapped: weakref.WeakValueDictionary[str, mmap.mmap] = field(default_factory=weakref.WeakValueDictionary)

    def add(self, name: str, member: Member) -> None:
        if name in self.members:
            self.repeated.add(name)
        self.members[name] = member
        folder, base = posixpath.split(name)
        self.add_folder(folder)
        self.folders[folder][0].add(base)

    def add_folder(self, name: str) -> None:
        while name not in self.folders:
            self.folders[name] = (set(), set())
            parent, base = posixpath.split(name)
            self.add_folder(parent)
            self.folders[parent][1].add(base)

    def resolve(self, name: str, where: str) -> Member:
        """The member with this name, or the one that its links lead to."""
        member, path = self.members[name], name
        for _ in range(MOST_LINKS):
            if member.target is None:
                return member
            path = posixpath.normpath(member.target)
            if path not in self.members:
                inside = not path.startswith(("/", "../")) and path != ".."
                what = "which is not in the archive" if inside else "which is outside the archive"
                raise UnreadableFile(f"{where}: a link to `{path}`, {what}")
            member = self.members[path]
        raise UnreadableFile(f"{where}: a link that refers to itself")


class Archive:
    """A folder of an archive."""

    def __init__(self, where: str, tree: Tree, reader: FileReader | None = None, root: str = "") -> None:
        self.where = where
        self.tree = tree
        self.reader = reader or FileReader()
        self.root = root

    def inside(self, name: str) -> str:
        joined = posixpath.normpath(posixpath.join(self.root, name)) if name else self.root
        return "" if joined == "." else joined

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        entries = self.tree.folders.get(self.inside(folder))
        if entries is None:
            raise UnreadableFile(f"{self.label(folder)}: no such folder in the archive")
        return sorted(entries[0]), sorted(entries[1])

    def has(self, name: str) -> bool:
        return self.inside(name) in self.tree.members

    def size(self, name: str) -> int:
        return self.member(name).size

    def map(self, name: str) -> memoryview:
        key = self.inside(name)
        kept = self.tree.mapped.get(key)
        if kept is None:
            data = self.member(name).read()
            if not isinstance(data, mmap.mmap):
                return memoryview(data)
            kept = self.tree.mapped[key] = data
        return memoryview(kept)

    def hold(self, names: Iterable[str]) -> None:
        pass  # the tree has the bytes of the archive

    def watch(self, names: Iterable[str]) -> None:
        pass

    def under(self, folder: str) -> Archive:
        return Archive(self.label(folder), self.tree, self.reader, self.inside(folder)) if folder else self

    def label(self, name: str) -> str:
        return posixpath.join(self.where, name) if name else self.where

    def member(self, name: str) -> Member:
        if not self.has(name):
            raise UnreadableFile(f"{self.label(name)}: no such file in the archive")
        return self.tree.resolve(self.inside(name), self.label(name))


class WithArchive:
    """Files of which one folder, that has no other folder around it, is an archive."""

    def __init__(self, files: Files, folder: str, archive: Archive) -> None:
        self.files = files
        self.folder = folder
        self.archive = archive
        self.where = files.where
        self.reader = files.reader

    def _of(self, name: str) -> tuple[Files, str]:
        folder, _, rest = posixpath.normpath(name).partition("/") if name else ("", "", "")
        return (self.archive, rest) if folder == self.folder else (self.files, name)

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        files, name = self._of(folder)
        names, folders = files.list(name)
        return names, folders if name or files is self.archive else sorted({*folders, self.folder})

    def has(self, name: str) -> bool:
        files, name = self._of(name)
        return files.has(name)

    def size(self, name: str) -> int:
        files, name = self._of(name)
        return files.size(name)

    def map(self, name: str) -> memoryview:
        files, name = self._of(name)
        return files.map(name)

    def hold(self, names: Iterable[str]) -> None:
        self.files.hold(name for name in names if self._of(name)[0] is self.files)  # the tree has the others

    def watch(self, names: Iterable[str]) -> None:
        self.files.watch(name for name in names if self._of(name)[0] is self.files)

    def under(self, folder: str) -> Files:
        if not folder:
            return self
        files, name = self._of(folder)
        return files.under(name)

    def label(self, name: str) -> str:
        files, name = self._of(name)
        return files.label(name)


def tree_of(entries: Entries, where: str) -> Tree:
    """The tree of (name, member) pairs, None for a folder; a later member replaces one of the same name."""
    tree = Tree()
    for number, (member_name, member) in enumerate(entries):
        if number >= MOST_MEMBERS:
            raise UnreadableFile(
                f"{where}: more than {MOST_MEMBERS} members; unpack it and pass the folder of the model"
            )
        name = safe_name(member_name, where)
        if not name:  # the top folder itself
            continue
        if member is None:
            tree.add_folder(name)
        else:
            tree.add(name, member)
    return tree


def safe_name(member_name: str, where: str) -> str:
    """The name relative to the top of the archive; an error if it leads outside."""
    parts = [part for part in member_name.split("/") if part not in ("", ".")]
    if len(member_name) > LONGEST_NAME or len(parts) > DEEPEST_NAME:
        raise UnreadableFile(
            f"{where}: the member name `{_shown(member_name[:40])}…` is too long or too deep"
        )
    if member_name.startswith("/") or ".." in parts or "\0" in member_name:
        raise UnreadableFile(
            f"{where}: the member `{_shown(member_name)}` is outside the archive; tfport does not open it"
        )
    return "/".join(parts)


def _shown(name: str) -> str:
    """The name of a member for a message on one line."""
    return name if name.isprintable() else repr(name)[1:-1]
