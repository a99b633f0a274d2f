"""What is recorded about the names in a text that contains no known message.

`clues(text)` finds ops, symbols, classes of Keras, modules, releases, and numbers of CUDA and glibc, in
whatever words they stand, and looks them up; then come the paths of a traceback, which tell the release
and whose code raised it. Each clue is a true statement about a name; none says what went wrong.

Words that only look like names are left out: an ordinary word that is also an op (`Add`, `Size`) counts
only where the text calls it an op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.explain.evidence import FRAME, INSTALLED, LAYOUTS, Circumstances
from tfport.explain.lookup import other_framework

MOST_CLUES = 6
MOST_OF_A_KIND = 3
PACKAGE = re.compile(r"(?:site|dist)-packages/([A-Za-z]\w{0,80})")
KERAS_INSIDE = re.compile(r"\btensorflow(_core)?/python/keras/")

CALLED_OP = re.compile(
    r"\b(?:[Oo]p(?:eration|erator)?(?:[ _]?(?:[Tt]ype|[Nn]ame))?|[Kk]ernel(?: for)?|KeyError)"
    r"(?:: | = |: ?\"|=| )['\"<]?([A-Z][A-Za-z0-9]{1,80})\b(?![\w.(])"
    r"|\}\} = ([A-Z][A-Za-z0-9]{1,80})\[|\[Op:([A-Z][A-Za-z0-9]{1,80})\]"
)
"""A name that the text calls an op."""
NUMBERED = re.compile(r"(?<![\w./>-])([A-Z][a-z][A-Za-z0-9]{2,80}V\d)\b(?![\w./(])")
"""A name such as `BatchMatMulV2`."""
QUOTED = re.compile(r"'([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){1,8})'")
SYMBOL = re.compile(
    r"(?<!\w)_{1,2}ZNK?(?:V|K)?(?:St)?\w{8,2000}|(?<![\w.])(?:TF|TFE)_[A-Z]\w{2,60}(?=\(|'|\"|\b)"
)
MODULE = re.compile(
    r"(?<![\w./@-])((?:tensorflow|keras)(?:\.[a-zA-Z_]\w{0,60}){1,7}|tf(?:\.[a-zA-Z_]\w{0,60}){1,6})(?![\w/-])"
)
FILE_ENDS = ("py", "so", "js", "cc", "h", "dll", "json", "org", "com", "lite", "pb", "dev", "whl", "io", "md")
CUDA_LIBRARY = re.compile(
    r"\b(lib(?:cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cupti|nvinfer)\.so\.\d{1,3}(?:\.\d{1,3})?"
    r"|(?:cudart|cudnn|cublas|cufft|curand|cusolver|cusparse)64_\d{1,4}\.dll)\b"
)
FLOOR = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI)_(\d{1,3}(?:\.\d{1,3}){1,3})\b")
CLASS = re.compile(
    r"\b(?:[Ll]ayer|class_name['\"]?|[Cc]lass|[Oo]bject)(?:: | = |=| )['\"]([A-Z]\w{2,80})['\"]"
)


def clues(text: str) -> list[str]:
    """True statements about the names and the paths in a text."""
    plain = text.replace("\\\\", "/").replace("\\", "/")
    named = [] if other_framework(text) else list(dict.fromkeys(_recorded_names(text)))[:MOST_CLUES]
    return [*named, *_paths(plain)]


def _recorded_names(text: str) -> Iterator[str]:
    for reader in (_ops, _symbols, _classes, _modules, _libraries, _floors, _releases):
        for number, clue in enumerate(reader(text)):
            if number == MOST_OF_A_KIND:
                break
            yield clue


def _ops(text: str) -> Iterator[str]:
    called = {next(filter(None, names)) for names in CALLED_OP.findall(text)}
    alone = {*NUMBERED.findall(text), *QUOTED.findall(text)} - called
    if not called and not alone:
        return
    from tfport.atlas.atlas import atlas  # imported here and below: most texts have few kinds of names
    from tfport.atlas.op_search import summaries
    from tfport.explain.keras import is_class
    from tfport.explain.lookup import recorded

    names = sorted(name for name in (called | alone) if name in called or not is_class(name))
    for history in summaries(atlas(), names):
        if history.releases:
            yield f"{history.name} is an op, which TensorFlow registers {recorded(history.releases)}"
        elif history.providers:
            yield f"{history.name} is an op of {' and '.join(history.providers)}, not of TensorFlow itself"


def _symbols(text: str) -> Iterator[str]:
    for symbol in dict.fromkeys(SYMBOL.findall(text)):
        from tfport.explain.lookup import recorded
        from tfport.explain.symbols import C_NAMES, TENSORFLOW_NAMES, linux_name, readable, releases_exporting

        plain = linux_name(symbol)
        name = readable(plain)
        if not plain.startswith(C_NAMES) and not name.startswith(TENSORFLOW_NAMES):
            continue
        if releases := releases_exporting(plain):
            yield f"{name} is a symbol that TensorFlow exports {recorded(releases)}"


def _classes(text: str) -> Iterator[str]:
    for name in dict.fromkeys(CLASS.findall(text)):
        from tfport.explain.keras import class_releases

        if releases := class_releases(name):
            yield f"{name} is a class of Keras, in TensorFlow {releases}"


def _modules(text: str) -> Iterator[str]:
    for name in dict.fromkeys(MODULE.findall(text)):
        parts = name.split(".")
        if parts[-1] in FILE_ENDS or parts[-1].startswith("_"):
            continue
        from tfport.atlas.python_names import presence

        module = ".".join(["tensorflow" if parts[0] == "tf" else parts[0], *parts[1:-1]])
        where = presence(module, parts[-1])
        if where is not None and where.spans and not where.always:
            product = "TensorFlow" if where.package == "tensorflow" else "the package keras"
            yield f"{product} has {module}.{parts[-1]} {where}"


def _libraries(text: str) -> Iterator[str]:
    for name in dict.fromkeys(CUDA_LIBRARY.findall(text)):
        from tfport.explain.cuda import releases_needing

        if releases := releases_needing(name):
            yield f"{name} is needed by {releases}"


def _floors(text: str) -> Iterator[str]:
    for name, version in dict.fromkeys(FLOOR.findall(text)):
        from tfport.explain.builds import releases_below

        if older := releases_below(name, version):
            yield f"releases that need only an older {name} than {version}: {older}"


def _releases(text: str) -> Iterator[str]:
    exact = {
        known.first for known in Circumstances("", text, {}).versions("tensorflow") if known[0] == known[1]
    }
    for numbers in sorted(exact):
        from tfport.explain.builds import build_summary

        if summary := build_summary(".".join(map(str, numbers))):
            yield summary


# The paths of a traceback: packages keep their files in folders that differ between releases.


def _paths(text: str) -> Iterator[str]:
    folders = [layout for layout in LAYOUTS if layout.pattern.search(text)]
    releases = [f"{layout.releases} (the folder {layout.folder})" for layout in folders]
    if KERAS_INSIDE.search(text):
        releases.append("the Keras inside TensorFlow (up to 2.5; a private copy later)")
    if releases:
        yield f"the paths are those of {', and of '.join(releases)}"
    pythons = list(dict.fromkeys(known.evidence for known in Circumstances("", text, {}).versions("python")))
    if len(pythons) == 1:
        yield pythons[0]
    frames = FRAME.findall(text)
    if not frames:
        return
    last = next(filter(None, frames[-1]))
    if package := PACKAGE.search(last):
        yield f"the last file in the traceback belongs to the package {package[1]}"
    elif INSTALLED.search(last):
        yield f"the last file in the traceback belongs to Python itself: {last.rpartition('/')[2]}"
    else:
        yield f"the last file in the traceback belongs to no installed package: {last}"
