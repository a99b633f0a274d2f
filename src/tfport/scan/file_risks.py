"""Look at every file of a model, and into archives: native code, pickles, scripts, links that lead outside.

`look_at(path)` returns what was found, and the files that are models themselves, which `scan` loads.
Nothing is unpacked to its name, imported or run; what is read is bounded in number, size and depth.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from io import BytesIO

from tfport.errors import Error, UnreadableFile
from tfport.formats.archive.archive import MOST_MEMBERS, Member
from tfport.formats.archive.open import archive_entries
from tfport.formats.archive.unpack import HARMLESS, MOST_RATIO, unpacked_head
from tfport.formats.files import Folder
from tfport.formats.keras.unsafe import leads_outside
from tfport.scan import file_contents as kinds
from tfport.scan import file_findings as findings
from tfport.scan.archive_risks import DRIVE, StoredMembers, archive_risks, zip_at_end
from tfport.scan.pickle_risks import MOST_PICKLE, pickle_names, pickle_risk
from tfport.scan.risk import NOTE, WARNING, Risk
from tfport.startup.dataclass import dataclass, field
from tfport.words import count

MOST_FILES = 20_000
MOST_UNPACKED = 2 << 30
"""Bytes of members that are unpacked to look at them, together."""
DEEPEST = 4
"""Archives inside archives."""
MOST_NAMES = 6
MOST_MODELS = 50
SKIPPED_FOLDERS = frozenset((".git", ".cache", ".svn", "__pycache__"))
MODEL_SUFFIXES = frozenset((".keras", ".h5", ".hdf5", ".tflite", ".lite", ".pb", ".pbtxt", ".meta"))
SYSTEM = re.compile(
    r"/(etc|proc|sys|dev|root|boot|bin|sbin|usr|var|run)(/|$)|/\.(ssh|aws|config|kube|docker|netrc)\b"
)
"""Places that no model has its files in."""
NOTABLE = re.compile(
    r"(exec(v|ve|vp|vpe|l|lp|le)|system|popen|posix_spawnp?|v?fork|dlopen|dlmopen|socket|connect|bind|listen|accept4?|"
    r"getaddrinfo|gethostbyname|ptrace|unlink(at)?|setuid|memfd_create|process_vm_writev)"
)
"""Functions of the system that a kernel has little reason to import."""
END_OF_ZIP = b"PK\x05\x06"
LOCAL_HEADER = b"PK\x03\x04"
BEFORE_END = "model.keras before the end of the file"
BEHIND = "an HDF5 file behind something else"
"""In place of the name of a model whose bytes do not begin with it."""
HDF5_START = b"\x89HDF\r\n\x1a\n"


@dataclass(slots=True)
class FileReport:
    """What the files of a path are."""

    risks: list[Risk] = field(default_factory=list)
    models: list[tuple[str, str, memoryview]] = field(default_factory=list)
    """Files that may be models: as messages call them, their name, and their bytes."""


def look_at(path: str) -> FileReport:
    """Everything in a file, a folder, or an archive; nothing for a path that does not exist."""
    look = _FileLook()
    if os.path.isdir(path):
        look.folder(path)
    elif os.path.isfile(path):
        folder, name = os.path.split(path)
        look.file(Folder(folder).map(name), path, depth=0)
    return look.report


class _FileLook:
    def __init__(self) -> None:
        self.report = FileReport()
        self.files = 0
        self.unpacked = 0

    def add(self, risk: Risk) -> None:
        self.report.risks.append(risk)

    def folder(self, path: str) -> None:
        top = os.path.realpath(path)
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted([*names, *(f for f in folders if os.path.islink(os.path.join(folder, f)))]):
                whole = os.path.join(folder, name)
                if self._is_one_too_many(path):
                    return
                if os.path.islink(whole) and not self._is_harmless_link(whole, top):
                    continue
                if os.path.isfile(whole):
                    self._guarded(whole, depth=0)

    def _is_one_too_many(self, where: str) -> bool:
        self.files += 1
        if self.files == MOST_FILES + 1:
            self.add(
                findings.NotScanned(subject=f"`{where}`", detail=f"it has more than {MOST_FILES:,} files")
            )
        return self.files > MOST_FILES

    def _is_harmless_link(self, path: str, top: str) -> bool:
        target, stored = os.path.realpath(path), os.readlink(path)
        if os.path.commonpath([top, target]) == top:
            return True
        is_system = SYSTEM.search(target) is not None
        why = (
            "a file of the system"
            if is_system
            else "stores of downloaded models link to their files like this"
        )
        level = WARNING if is_system else NOTE
        self.add(findings.OutsideLink(subject=f"`{path}`", detail=stored[:200], level=level, why=why))
        return not is_system

    def _guarded(self, path: str, depth: int) -> None:
        folder, name = os.path.split(path)
        try:
            self.file(Folder(folder).map(name), path, depth)
        except Error as error:
            self._unread(path, error)

    def _unread(self, where: str, error: Error, level: str = NOTE) -> None:
        why = str(error).removeprefix(f"{where}: ")
        self.add(findings.NotScanned(subject=f"`{where}`", detail=why, level=level))

    def file(self, data: memoryview, where: str, depth: int) -> None:
        """Look at one file, by its content and its name."""
        name = posixpath.basename(where)
        subject, kind, names = f"`{where}`", kinds.content_of(data, name), pickle_names(data, name)
        suffix = kinds.suffix_of(name)
        if kind in kinds.NATIVE:
            self.add(_native(data, where, kind))
        elif kind in (kinds.SCRIPT, kinds.BYTECODE) or (len(data) and suffix in kinds.SCRIPT_SUFFIXES):
            self._script(kind or kinds.SCRIPT, where, depth)
        elif names is not None:
            kind = kinds.PICKLE
            self.add(pickle_risk(names, subject))
            if not names.is_whole:
                detail = "a pickle that does not end, or is longer than what is looked at"
                self.add(findings.NotScanned(subject=subject, detail=detail, level=WARNING))
        if kinds.contradicts(kind, name):
            is_model = kind in (kinds.ZIP, kinds.HDF5, kinds.LITE)
            self.add(findings.WrongSuffix(subject=subject, detail=kind, level=NOTE if is_model else WARNING))
        if suffix in MODEL_SUFFIXES or kind in (kinds.HDF5, kinds.ZIP, kinds.LITE):
            self._model(data, where, name)
        if kind == kinds.NUMPY and (elements := kinds.declared_elements(data)) > max(HARMLESS, len(data)):
            detail = f"declares {elements:,} elements, and has {len(data):,} bytes"
            self.add(findings.ArchiveBomb(subject=subject, detail=detail))
        if suffix == ".json" and bytes(data[:4]).count(0):
            detail = "is JSON in UTF-16 or UTF-32, which Python reads and scanners do not"
            self.add(findings.AmbiguousArchive(subject=subject, detail=detail))
        if suffix == ".json":
            self.report.risks += list(_weight_paths(data, subject))
        self._other_format(data, kind, where, depth)
        self._inside(data, kind, where, depth)

    def _script(self, kind: str, where: str, depth: int) -> None:
        inside = depth > 0 or "/assets" in where
        why = "no model has programs inside" if inside else "a program beside the model, not in it"
        risk = findings.ScriptFile(
            subject=f"`{where}`", detail=kind, why=why, level=WARNING if inside else NOTE
        )
        self.add(risk)

    def _model(self, data: memoryview, where: str, name: str) -> None:
        if len(self.report.models) < MOST_MODELS:
            self.report.models.append((where, name, data))
        elif len(self.report.models) == MOST_MODELS:
            self.add(
                findings.NotScanned(
                    subject=f"`{where}`", detail=f"more than {MOST_MODELS} models in one path"
                )
            )

    def _other_format(self, data: memoryview, kind: str, where: str, depth: int) -> None:
        """A second format in the same file: a zip archive at its end, or HDF5 after its first part."""
        subject = f"`{where}`"
        if kind != kinds.ZIP and END_OF_ZIP in bytes(data[-(2**16 + 22) :]):
            members = zip_at_end(data, where)
            if members:
                if kind != kinds.LITE:  # which packs its labels like this
                    first = kind or "another file"
                    self.add(findings.TwoFormats(subject=subject, detail=f"{first} and a zip archive"))
                self._entries(members, data, where, depth)
        if kind == kinds.HDF5 or (kind == kinds.ZIP and kinds.suffix_of(where) not in (".h5", ".hdf5")):
            return  # an archive may have an HDF5 file anywhere
        start = 512
        while start < len(data):
            if bytes(data[start : start + 8]) == HDF5_START:
                first = kind or "another file"
                self.add(findings.TwoFormats(subject=subject, detail=f"{first} and an HDF5 file"))
                self._model(data, where, BEHIND)
                return
            start *= 2

    def _inside(self, data: memoryview, kind: str, where: str, depth: int) -> None:
        """Look into an archive or a compressed file."""
        packed = (kinds.ZIP, kinds.TAR, *kinds.PACKED)
        if kind in kinds.CLOSED:
            self.add(findings.NotScanned(subject=f"`{where}`", detail=kind))
        elif kind in packed and depth >= DEEPEST:
            detail = f"archives inside archives more than {DEEPEST} deep"
            self.add(findings.NotScanned(subject=f"`{where}`", detail=detail))
        elif kind in packed:
            try:
                entries = archive_entries(data, where)
            except UnreadableFile as error:
                if "times as much" in str(error):
                    self.add(
                        findings.ArchiveBomb(
                            subject=f"`{where}`", detail=str(error).removeprefix(f"{where}: ")
                        )
                    )
                elif depth:
                    self._unread(where, error, WARNING)
                return
            if entries is not None:
                self._entries(list(entries), data, where, depth)
                if not entries and bytes(data[:4]) == LOCAL_HEADER:
                    self._before_empty_end(data, where, depth)
            elif kind in kinds.PACKED:
                head = unpacked_head(BytesIO(data), bytes(data[:16]), MOST_PICKLE)
                self.file(
                    memoryview(head), f"{where}/{posixpath.splitext(posixpath.basename(where))[0]}", depth + 1
                )

    def _before_empty_end(self, data: memoryview, where: str, depth: int) -> None:
        """The archive before an end record that says that there is none."""
        detail = "has members, and an end record without any"
        self.add(findings.AmbiguousArchive(subject=f"`{where}`", detail=detail))
        tail = bytes(data[-(2**16 + 44) :])
        before = data[: len(data) - len(tail) + tail.rfind(END_OF_ZIP)]
        if members := zip_at_end(before, where):
            self._entries(members, before, where, depth)
            self._model(before, where, BEFORE_END)

    def _entries(self, entries: StoredMembers, data: memoryview, where: str, depth: int) -> None:
        self.report.risks += list(archive_risks(entries, data, where))
        for name, member in entries[:MOST_MEMBERS]:
            if member is None or self._is_one_too_many(where):
                continue
            inner = posixpath.join(where, name.lstrip("/"))
            if member.target is not None:
                target = posixpath.normpath(member.target)
                if target == posixpath.dirname(name) or target == ".":
                    self.add(findings.NotScanned(subject=f"`{inner}`", detail="a link to nothing"))
                elif leads_outside(target) or DRIVE.match(target):
                    self.add(findings.OutsideLink(subject=f"`{inner}`", detail=member.target[:200]))
                continue
            self._member(member, inner, depth)

    def _member(self, member: Member, where: str, depth: int) -> None:
        self.unpacked += member.size if member.packed is not None else 0
        if self.unpacked > MOST_UNPACKED:
            detail = f"its archive unpacks to more than {count(MOST_UNPACKED >> 30, 'gigabyte')}"
            self.add(findings.NotScanned(subject=f"`{where}`", detail=detail, level=NOTE))
            return
        try:
            if member.size <= max(HARMLESS, MOST_RATIO * (member.packed or member.size)):
                self.file(memoryview(member.read()), where, depth + 1)
        except Error as error:
            self._unread(where, error, WARNING)


def _native(data: memoryview, where: str, kind: str) -> Risk:
    imports: list[str] = []
    if kind == kinds.ELF:
        from tfport.formats.elf.library import ElfLibrary  # imported here, as few models have one

        try:
            names = [symbol.name for symbol in ElfLibrary(data, where).symbols.undefined]
            imports = sorted({name for name in names if NOTABLE.fullmatch(name)})
        except (Error, ValueError, IndexError, KeyError):
            kind += ", which cannot be read"
    shown = ", ".join(f"`{name}`" for name in imports[: 2 * MOST_NAMES])
    return findings.NativeCode(
        subject=f"`{where}`", detail=kind + (f", which imports {shown}" if shown else "")
    )


PATHS = re.compile(rb'"paths"\s*:\s*\[([^\]]{0,1000000})\]')
QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def _weight_paths(data: memoryview, subject: str) -> Iterator[Risk]:
    """Weights of a TensorFlow.js model that are not in its folder."""
    from tfport.scan.lite_risks import OutsideWeights

    if b"anifest" not in (text := bytes(data[: 64 << 20])):
        return
    for paths in PATHS.findall(text):
        for path in QUOTED.findall(paths):
            plain = path.decode("utf-8", "replace").replace("\\/", "/")
            if leads_outside(plain) or "://" in plain or plain.startswith("//") or DRIVE.match(plain):
                yield OutsideWeights(subject=subject, detail=plain[:200])
