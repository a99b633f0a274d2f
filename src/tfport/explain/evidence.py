"""What the text around a message tells: releases, files, systems, other words, and so the cause.

A condition of a row (`if`, `unless`) is one of these; several joined by ` & ` must all hold:

| condition | holds if |
|---|---|
| `python>=3.12`, `numpy>=1.24,<2` | all versions of it that the text names, or its paths show, are such |
| `path:keras/src` | a path in the text contains it; `\\` counts as `/` |
| `names_path:tensorflow/lite` | the path in the message itself contains it |
| `raised_in:keras/src` | the file of the last frame before the message, except protobuf's, contains it |
| `raised_in:own` | that file is neither of an installed package nor of Python |
| `raised_in:installed` | that file is of an installed package |
| `suffix:.h5` | a file name in the text ends so |
| `suffix:none` | the paths in the message have no suffix |
| `platform:windows` | the text shows the system (`PLATFORMS`) |
| anything else | a pattern, as in `says`: the text has it. `{layer}` is the name in the message |

`Circumstances.evidence` answers with a phrase that says what was found, or None. `weigh` names a cause
only if there is evidence for it, none against it, and none for another one.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tfport.explain.messages import GAP, KINDS, MessagePattern, PossibleCause, fill
from tfport.startup.dataclass import dataclass

JOINT = " & "
KEYED = re.compile(r"(path|names_path|raised_in|suffix|platform):(\S.*)")
LIMITS = re.compile(r"([a-z][a-z0-9-]*)((?:[<>]=?|==)\d+(?:\.\d+)*(?:,(?:[<>]=?|==)\d+(?:\.\d+)*)*)")
LIMIT = re.compile(r"([<>]=?|==)([\d.]+)")
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
OWN, OF_PACKAGE, NONE = "own", "installed", "none"
NAME = re.compile(r"\{(\w+)\}")

PLATFORMS = {
    "windows": r"\b[A-Z]:\\|\bwin_amd64\b|\bWindows(?: 1[01]|[- ]Server)|\bmsvcp|\bcudart64_|DLL load failed",
    "linux": r"/usr/(?:local/)?lib/|/home/\w|linux_x86_64|manylinux|\bUbuntu\b|\bDebian\b|x86_64-linux-gnu",
    "macos": r"/opt/homebrew/|\bmacosx_\d|\bmacOS\b|\.dylib\b|(?<![A-Za-z]:)/Users/\w|\bdarwin\b",
    "apple silicon": r"macosx_\d+_\d+_arm64|\bApple M[1-4]\b|tensorflow[-_]metal|/miniforge3?/",
    "colab": r"/content/|/usr/local/lib/python3\.\d+/dist-packages/(?:google/)?colab|\bGoogle Colab\b",
    "arm64 linux": r"linux_aarch64|aarch64-linux-gnu|\baarch64\b",
    "raspberry pi": r"\braspberry ?pi\b|linux_armv[67]l|arm-linux-gnueabihf|piwheels",
    "jetson": r"\bjetson\b|\+nv\d|\bjetpack\b|nvidia-l4t",
    "android": r"\bAndroid\b|/data/app/|arm64-v8a|armeabi-v7a|\bJNI\b|\b[AF]/(?:libc|DEBUG)\b|\bandroid\.\w",
    "ios": r"\biOS\b|\bXcode\b|CocoaPods",
    "wsl": r"\bWSL2?\b|microsoft-standard",
    "packed": r"\bPyInstaller\b|\bcx_Freeze\b|\bpy2exe\b|\bpy2app\b|\bNuitka\b|Failed to execute script"
    r"|[\\/]_MEI\d|File \"site-packages[\\/]|\\dist\\?[\w\\-]{0,60}[>\\] ?[\w.\\-]{1,60}\.exe\b",
    "docker": r"\bdocker(?:file)?\b",
    "conda": r"/(?:ana|mini)conda\d?/|\\(?:ana|mini)conda\d?\\|\bconda\b|/envs/[\w.-]+/(?:lib|bin)/",
}
"""What shows a system; letters in any case."""
SHOWN = {
    "macos": "macOS", "ios": "iOS", "wsl": "WSL", "arm64 linux": "ARM64 Linux",
    "packed": "a program packed by PyInstaller or the like",
}  # fmt: skip
"""How systems are called where it is not their name with capitals."""


class VersionRange(NamedTuple):
    """The versions that a package may have, and what in the text tells so."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    evidence: str


class Layout(NamedTuple):
    """A folder that only some releases of a package have."""

    package: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    folder: str
    releases: str
    pattern: re.Pattern[str]


NEWEST = (999,)
LAYOUTS = [
    Layout("tensorflow", (1, 15), (2, 1), "tensorflow_core", "TensorFlow 1.15 to 2.1",
           re.compile(r"\btensorflow_core/")),
    Layout("tensorflow", (1, 0), (1, 15), "tensorflow/contrib", "TensorFlow 1",
           re.compile(r"\btensorflow/contrib/")),
    Layout("tf-keras", (2, 0), NEWEST, "tf_keras", "the package tf_keras (Keras 2)",
           re.compile(r"\btf_keras/")),
    Layout("keras", (2, 13), (2, 15), "keras/src/engine", "Keras 2.13 to 2.15",
           re.compile(r"(?<!\w)keras/src/engine/")),
    Layout("keras", (3, 0), NEWEST, "keras/src", "Keras 3",
           re.compile(r"(?<!\w)keras/src/(?:models|ops|trainers|random|backend/common|layers/layer\.py)")),
    Layout("keras", (1, 0), (2, 12), "keras/engine", "Keras 1.0 to 2.12",
           re.compile(r"(?<!\w)(?<!python/)keras/engine/")),
]  # fmt: skip
"""Folders of packages by release."""

NUMBER = r"v?(\d{1,3}(?:\.\d{1,4}){1,3})"
"""A version of two or more numbers."""
NOT_INSTALLED = re.compile(
    r"(?:requires?|depends? on|needs?|need|install|upgrade to|downgrade to|require) $", re.I
)
"""What precedes a version that a text only asks for."""
OPEN_RANGE = re.compile(
    r"(?:\.\d+)?(?:\+| ?(?:or|and) (?:later|newer|higher|above|greater|older|earlier|below|up)\b)"
)
"""What follows a version that is only the end of a range."""
ALIASES = {"tensorflow": r"(?:tensorflow|tf)(?:[-_](?:gpu|cpu|intel|macos))?", "tf-keras": r"tf[-_]keras"}
PYTHON_VERSION = re.compile(
    r"[Pp]ython ?(?:[Vv]ersion)?(?: ?[:=]{1,2} ?| |-)?([23]\.\d{1,2})(?!\d|\.?x\b)"
    r"|[Pp]ython([23])(\d{1,2})(?=[\\/]|$)|\bcp([23])(\d{1,2})-"
)
FRAME = re.compile(
    r'File "([^"]{1,400})", line \d{1,6}|File ([^\s:"]{1,400}):\d{1,6}, in '
    r"|(\S{1,400}\.pyx?) in (?:\w+\(|<module>)"
)
LAST_IMPORT = re.compile(
    r'File "[^"]{1,400}", line \d{1,6}, in [\w<>.]{1,200} (?:import|from) '
    r'(?:(?!File ").){1,300}?((?:[\w.]{1,80}: )?)$'
)
"""The last frame before a message, if its line imports something, and the name of the exception."""
INSTALLED = re.compile(
    r"(?:site|dist)-packages/|/lib/python\d|/lib64/python\d|\\Lib\\|Python\d\d+/lib/|^<|/runfiles/", re.I
)
PACKAGE = re.compile(r"(?:site|dist)-packages/(\w+)", re.I)
FILE = re.compile(r"[\w./\\~-]{0,300}\w(\.\w{1,12})\b")


def is_condition(text: str) -> bool:
    """Whether a text is a well-formed condition of a row."""
    for part in text.split(JOINT):
        keyed = KEYED.fullmatch(part)
        if keyed and keyed[1] == "platform" and keyed[2] not in PLATFORMS:
            return False
        if not keyed and not LIMITS.fullmatch(part) and len(MessagePattern(part).anchor) < 3:
            return False
    return True


class Circumstances:
    """The text around a message, and what it tells."""

    def __init__(self, before: str, text: str, names: Mapping[str, str]) -> None:
        self._before, self._names = before, names
        self._text = before + text

    def evidence(self, condition: str) -> str | None:
        """What in the text shows that a condition holds; None if nothing does."""
        phrases = [self._part(part) for part in condition.split(JOINT)]
        return " and ".join(dict.fromkeys(filter(None, phrases))) if all(phrases) else None

    def _part(self, part: str) -> str | None:
        if keyed := KEYED.fullmatch(part):
            return _READERS[keyed[1]](self, keyed[2])
        if limits := LIMITS.fullmatch(part):
            return self._version(limits[1], limits[2])
        return self._words(part)

    def _words(self, pattern: str) -> str | None:
        message = MessagePattern(_with_names(pattern, self._names))
        if not all((kind or name) in KINDS for name, kind in GAP.findall(message.text)):
            return None  # the message lacks a name that the condition is about
        hit = message.regex.search(self._text) if message.anchor in self._text else None
        return f'the text has "{_shortened(hit[0])}"' if hit else None

    @functools.cached_property
    def _paths(self) -> str:
        return self._text.replace("\\\\", "/").replace("\\", "/")

    def _path(self, part: str) -> str | None:
        hit = re.search(rf"(?<![\w.-]){re.escape(part)}", self._paths)
        return f"the text has a path through {part}" if hit else None

    def _names_path(self, part: str) -> str | None:
        paths = [value.replace("\\", "/") for name, value in self._names.items() if "path" in name and value]
        hit = any(re.search(rf"(?<![\w.-]){re.escape(part)}", path) for path in paths)
        return f"the path in the message is one of {part}" if hit else None

    @functools.cached_property
    def raising_file(self) -> str:
        """The file of the last frame before the message, except protobuf's; empty without a traceback."""
        frames = (next(filter(None, frame)) for frame in reversed(FRAME.findall(self._before)))
        files = (file.replace("\\\\", "/").replace("\\", "/") for file in frames)
        return next((file for file in files if "google/protobuf/" not in file), "")

    def _raised_in(self, part: str) -> str | None:
        file = self.raising_file
        if part == OWN:
            is_own = bool(file) and not INSTALLED.search(file) and not self._is_cut_at_import
            return (
                f"the file that raised it, {_shortened(file)}, belongs to no installed package"
                if is_own
                else None
            )
        if part == OF_PACKAGE:
            package = None if self._is_cut_at_import else PACKAGE.search(file)
            return f"a file of the installed package {package[1]} raised it" if package else None
        hit = re.search(rf"(?<![\w.-]){re.escape(part)}", file)
        return f"a file of {part} raised it" if hit else None

    @property
    def _is_cut_at_import(self) -> bool:
        """Whether the last frame is an import, and what it raised is of the imported module."""
        line = LAST_IMPORT.search(self._before)
        return line is not None and not line[1].startswith(("ImportError", "ModuleNotFoundError"))

    def _suffix(self, suffix: str) -> str | None:
        if suffix == NONE:
            paths = [value for name, value in self._names.items() if "path" in name and value]
            plain = [path for path in paths if "." not in path.replace("\\", "/").rpartition("/")[2]]
            return f"{plain[0]} has no suffix" if plain and plain == paths else None
        hit = next((file[0] for file in FILE.finditer(self._text) if file[1] == suffix), None)
        return f"the text names {_shortened(hit)}" if hit else None

    def _platform(self, name: str) -> str | None:
        hit = re.search(PLATFORMS[name], self._text, re.IGNORECASE)
        return f'the text shows {SHOWN.get(name, name.title())} ("{_shortened(hit[0])}")' if hit else None

    def _version(self, package: str, limits: str) -> str | None:
        known = self.versions(package)
        holds = [_is_within(range_, limits) for range_ in known]
        return known[0].evidence if known and all(holds) else None

    def versions(self, package: str) -> list[VersionRange]:
        """The versions of a package that the text tells."""
        if package == "python":
            return list(self._pythons())
        return [*self._named_versions(package), *self._versions_of_paths(package)]

    def _pythons(self) -> Iterator[VersionRange]:
        for hit in filter(self._is_installed, PYTHON_VERSION.finditer(self._text)):
            number = hit[1] or ".".join(filter(None, hit.groups()))
            yield VersionRange(_numbers(number), _numbers(number), f"it ran on Python {number}")

    def _named_versions(self, package: str) -> Iterator[VersionRange]:
        for hit in filter(self._is_installed, _version_pattern(package).finditer(self._text)):
            numbers = _numbers(hit[1] or hit[2])
            yield VersionRange(numbers, numbers, f"the text names {_shortened(hit[0])}")

    def _is_installed(self, hit: re.Match[str]) -> bool:
        """Whether a text says that a version is there, not only that something asks for it."""
        before = self._text[max(0, hit.start() - 20) : hit.start()]
        return not NOT_INSTALLED.search(before) and not OPEN_RANGE.match(self._text, hit.end())

    def _versions_of_paths(self, package: str) -> Iterator[VersionRange]:
        for layout in LAYOUTS:
            if layout.package == package and layout.pattern.search(self._paths):
                shown = f"the traceback goes through {layout.folder}: {layout.releases}"
                yield VersionRange(layout.first, layout.last, shown)


_READERS = {
    "path": Circumstances._path,
    "names_path": Circumstances._names_path,
    "raised_in": Circumstances._raised_in,
    "suffix": Circumstances._suffix,
    "platform": Circumstances._platform,
}


def _with_names(pattern: str, names: Mapping[str, str]) -> str:
    """A pattern with the names of the message in it, as literal text."""
    return NAME.sub(lambda gap: names.get(gap[1]) or gap[0], pattern)


@functools.cache
def _version_pattern(package: str) -> re.Pattern[str]:
    name = ALIASES.get(package, re.escape(package).replace(r"\-", "[-_]"))
    between = (
        r"(?:\.__version__|\.version\.VERSION)?['\")]{0,2} {0,2}(?:version|ver\.?|release)? {0,2}"
        r"(?:==|=|:|-|@|\(|is)? {0,2}['\"(]?"
    )
    wheel = rf"(?<=/){name}-{NUMBER}-(?:cp|py)\d"
    return re.compile(rf"(?<![\w./<>=-]){name}{between}{NUMBER}(?![\w]|\.\d)|{wheel}", re.IGNORECASE)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _is_within(range_: VersionRange, limits: str) -> bool:
    """Whether all versions of a range are within limits; `==2.13` and `<=2.13` include 2.13.1."""
    for sign, number in LIMIT.findall(limits):
        wanted = _numbers(number)
        cut = len(wanted) if sign in ("==", "<=", ">") else None
        if not all(COMPARE[sign](_padded(end, cut), _padded(wanted, cut)) for end in range_[:2]):
            return False
    return True


def _padded(numbers: tuple[int, ...], length: int | None) -> tuple[int, ...]:
    return (*numbers, 0, 0, 0, 0, 0)[: length or 5]


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}…{text[-18:]}"


# Which of the possible causes of a message it is.


@dataclass
class WeighedCause:
    """A possible cause for the names in a message, with what speaks for it."""

    means: str
    named: bool
    """Whether it is the cause; otherwise it is one of several possible ones."""
    evidence: list[str]
    """What in the text or the records speaks for it."""
    check: str | None
    """What to look at to tell whether it is this one."""
    ways_out: list[str]


def weigh(
    causes: Sequence[PossibleCause], circumstances: Circumstances, names: Mapping[str, str]
) -> list[WeighedCause]:
    """The cause that the evidence names, alone; otherwise all that nothing speaks against."""
    possible = [cause for cause in causes if not any(map(circumstances.evidence, cause.speaks_against))]
    evidence = {id(cause): _evidence(cause, circumstances) for cause in possible}
    possible = [cause for cause in possible if evidence[id(cause)] or not cause.needs_evidence]
    likely = [cause for cause in possible if evidence[id(cause)]]
    if len(likely) == 1:
        possible = likely
    ranked = sorted(possible, key=lambda cause: not evidence[id(cause)])
    return [
        WeighedCause(
            fill(cause.means, names),
            len(likely) == 1,
            evidence[id(cause)],
            fill(cause.check, names) if cause.check else None,
            [fill(way, names) for way in cause.ways_out],
        )
        for cause in ranked
    ]


def _evidence(cause: PossibleCause, circumstances: Circumstances) -> list[str]:
    phrases = map(circumstances.evidence, cause.speaks_for)
    return list(dict.fromkeys([*cause.evidence, *filter(None, phrases)]))
