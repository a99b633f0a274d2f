"""Look at every file of a model, and into archives: native code, pickles, scripts, links that lead outside.

`look_at(path)` returns what was found; `model_risks` looks at the files that may be models
themselves. Nothing is unpacked to its name, imported or run; what is read is bounded in number,
size and depth.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
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
from tfport.scan.folder_files import files_below
from tfport.scan.pickle_risks import MOST_PICKLE, pickle_names, pickle_risk
from tfport.scan.risk import NOTE, WARNING, Risk
from tfport.words import count

MOST_FILES = 20_000
MOST_UNPACKED = 2 << 30
"""Bytes of members that are unpacked to look at them, together."""
DEEPEST = 4
"""Archives inside archives."""
MOST_NAMES = 6
MOST_MODELS = 50
MOST_JSON = 64 << 20
MODEL_SUFFIXES = frozenset((".keras", ".h5", ".hdf5", ".tflite", ".lite", ".pb", ".pbtxt", ".meta"))
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


ModelRisks = Callable[[str, str, memoryview], Iterable[Risk]]
"""What a file could do that may be a model: as messages call it, its name, and its bytes."""


def look_at(path: str, model_risks: ModelRisks, without: Iterable[str] = ()) -> list[Risk]:
    """What is in a file, a folder except the paths in `without`, or an archive.

    Nothing for a path that does not exist.
    """
    look = _FileLook(model_risks)
    if os.path.isdir(path):
        look.in_folder = True
        look.folder(path, without)
        return list(_without_repetition(look.risks))
    if os.path.isfile(path):
        folder, name = os.path.split(path)
        look.file(Folder(folder).map(name), path, depth=0)
    return look.risks


class _FileLook:
    def __init__(self, model_risks: ModelRisks) -> None:
        self.model_risks = model_risks
        self.risks: list[Risk] = []
        self.files = 0
        self.models: dict[str, None] = {}
        self.in_folder = False
        self.unpacked = 0

    def add(self, risk: Risk) -> None:
        self.risks.append(risk)

    def folder(self, path: str, without: Iterable[str]) -> None:
        for file in files_below(path, without):
            if isinstance(file, Risk):
                self.add(file)
            elif self._is_one_too_many(path):
                return
            else:
                self._guarded(file, depth=0)

    def _is_one_too_many(self, where: str) -> bool:
        self.files += 1
        if self.files == MOST_FILES + 1:
            detail = f"it has more than {MOST_FILES:,} files"
            self.add(findings.NotScanned(subject=f"`{where}`", detail=detail))
        return self.files > MOST_FILES

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
            level = NOTE if kind in (kinds.ZIP, kinds.HDF5, kinds.LITE) else WARNING
            self.add(findings.WrongSuffix(subject=subject, detail=kind, level=level))
        is_model = suffix in MODEL_SUFFIXES or kind in (kinds.HDF5, kinds.ZIP, kinds.LITE)
        if is_model or (suffix == ".json" and self._is_other_keras_json(data, where)):
            self._model(data, where, name)
        if kind == kinds.NUMPY and (elements := kinds.declared_elements(data)) > max(HARMLESS, len(data)):
            detail = f"declares {elements:,} elements, but has only {len(data):,} bytes"
            self.add(findings.ArchiveBomb(subject=subject, detail=detail))
        if suffix == ".json" and bytes(data[:4]).count(0):
            detail = "is JSON in UTF-16 or UTF-32, which Python reads and scanners do not"
            self.add(findings.AmbiguousArchive(subject=subject, detail=detail))
        if suffix == ".json":
            self.risks += list(_weight_paths(data, subject))
        self._other_format(data, kind, where, depth)
        self._inside(data, kind, where, depth)

    def _script(self, kind: str, where: str, depth: int) -> None:
        inside = depth > 0 or "/assets" in where
        why = "no model has programs inside" if inside else "a program next to the model, not in it"
        risk = findings.ScriptFile(
            subject=f"`{where}`", detail=kind, why=why, level=WARNING if inside else NOTE
        )
        self.add(risk)

    def _is_other_keras_json(self, data: memoryview, where: str) -> bool:
        """Whether this is the configuration of a Keras model, and not part of an archive that is one."""
        return b'"class_name"' in bytes(data[:MOST_JSON]) and posixpath.dirname(where) not in self.models

    def _model(self, data: memoryview, where: str, name: str) -> None:
        self.models[where] = None
        if len(self.models) <= MOST_MODELS:
            self.risks += self.model_risks(where, name, data)
        elif len(self.models) == MOST_MODELS + 1:
            detail = f"more than {MOST_MODELS} models in one path"
            self.add(findings.NotScanned(subject=f"`{where}`", detail=detail))

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
                elif depth or self.in_folder:
                    self._unread(where, error, WARNING if depth else NOTE)
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
        self.risks += list(archive_risks(entries, data, where))
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


def _without_repetition(risks: Iterable[Risk]) -> Iterator[Risk]:
    """The same findings, with one for all scripts beside a model."""
    scripts = []
    for risk in risks:
        if isinstance(risk, findings.ScriptFile) and risk.severity == NOTE:
            scripts.append(risk)
        else:
            yield risk
    if len(scripts) > 1:
        scripts[
            0
        ].detail += f", as {'is' if len(scripts) == 2 else 'are'} {len(scripts) - 1:,} more next to it"
    yield from scripts[:1]


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

    if b"anifest" not in (text := bytes(data[:MOST_JSON])):
        return
    for paths in PATHS.findall(text):
        for path in QUOTED.findall(paths):
            plain = path.decode("utf-8", "replace").replace("\\/", "/")
            if leads_outside(plain) or "://" in plain or plain.startswith("//") or DRIVE.match(plain):
                yield OutsideWeights(subject=subject, detail=plain[:200])
