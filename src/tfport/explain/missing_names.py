"""Look up which releases have a name or a module that Python did not find."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

from tfport.atlas.atlas import atlas
from tfport.atlas.python_names import OLD_API, Presence, modules_with, other_places, presence, public_name
from tfport.atlas.release_spans import STOCK, on_x86
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.log import failing_line, imported_from
from tfport.explain.lookup import Meaning, MessageMatch

REPLACED = Path(__file__).with_name("replaced_names.toml")
CONTRIB = "tensorflow.contrib"
LAST_WITH_CONTRIB = "1.15"
MODULE = re.compile(r"(?:module|from|named) ['\"]?((?:tensorflow|tensorflow_core|keras)\b(?:\.\w+)*)")
OTHER_MODULE = re.compile(r"['\"]? from (?:['\"]|partially)")
"""What follows a name if the message says which module it should be in."""
INSTALLED_FILE = re.compile(r"(?:site|dist)-packages[\\/]{1,2}(\w+)")
DISTINCT = 8
"""The length of a name from which on it is unlikely to be one of several packages."""
MOST_PLACES = 2
KERAS_IN_TENSORFLOW = "tensorflow.keras"
KERAS_OF_ITS_OWN_NUMBER = "2.6"
"""Since then TensorFlow requires a version of the package keras."""
LAST_KERAS_2 = "2.15"
BEFORE_KERAS_3 = "python<3.9"
"""The Pythons that no Keras 3 takes."""
PRODUCTS = {"tensorflow": "TensorFlow", "keras": "the package keras"}
NOT_RECORDED = "Names of earlier releases and of other packages are not recorded."
IMPORTED = re.compile(r"import `.*? from ")
"""The names that a replacement of a module lists."""
ABBREVIATIONS = {"tf": "tensorflow", "keras": "keras", "K": "keras.backend"}


def missing_name(match: MessageMatch, target: Target | None) -> Meaning | None:
    """In which releases a module has the name; None if the message is not about TensorFlow or Keras."""
    if match.is_cut or OTHER_MODULE.match(match.text[len(match.quote) :]):
        return None
    name = match.names["name"]
    if module := MODULE.search(match.quote):
        meaning = _presence_of(module[1], name, match)
        return meaning if match.is_quoted(name) or _is_recorded(module[1], name) else None
    line = failing_line(match.before)
    imported = imported_from(line, name) or _used_module(line, name)
    if imported is None:
        return _known_name(name)
    return _presence_of(imported, name, match) if imported.startswith(tuple(PRODUCTS)) else None


def missing_contrib(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases have the module or name of `tf.contrib`, and what replaces it."""
    name = match.names.get("name", "")
    module = f"{CONTRIB}.{match.names['module']}" if "module" in match.names else _used_contrib(match)
    where = presence(module, name) if name else presence(*_split(module))
    shown = f"{module}.{name}".strip(".")
    facts = [] if where is None or module == CONTRIB else [
        f"TensorFlow has {shown} {where}." if where.spans else f"No recorded release has {shown}."
    ]  # fmt: skip
    last = where.spans[-1][1] if facts and where and where.spans else LAST_WITH_CONTRIB
    is_in_none = bool(facts) and where is not None and not where.spans
    code = _contrib_places(name) if is_in_none and "module" in match.names else [
        f"use TensorFlow {last} for that code{_pythons(STOCK, last)}"
    ]  # fmt: skip
    return Meaning(facts, [
        *_replacement(shown),
        *code,
        "if the last file of the traceback is of a package, upgrade the package",
        "a SavedModel or frozen graph with contrib ops needs no such code, but a binary with these ops: "
        "`tfport check MODEL --on TARGET`",
    ])  # fmt: skip


def _contrib_places(name: str) -> list[str]:
    """Where contrib has a name that was elsewhere before TensorFlow 1.0."""
    modules = [module for module in modules_with(name) if module.startswith(CONTRIB)][:3] if name else []
    moved = f"; releases with contrib have {name} in {', '.join(modules)}" if modules else ""
    return [f"change the code: TensorFlow 1.0 moved names within contrib{moved}"]


def _used_contrib(match: MessageMatch) -> str:
    """The public part of `tf.contrib` that the line of source code before the message uses."""
    uses = re.findall(
        r"\b(?:tf|tensorflow)\.contrib((?:\.(?!_)\w+)*)", failing_line(match.before) + match.quote
    )
    return f"{CONTRIB}{uses[-1] if uses else ''}"


def missing_private_name(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which releases have the private module or name."""
    if match.is_cut:
        return None
    meaning = missing_name(match, target) if "name" in match.names else missing_module(match, target)
    return meaning or Meaning(
        ["No recorded release has the module."],
        [
            "the last file of the traceback shows the package that uses it: install its version for your "
            "TensorFlow; in your own code, import public names"
        ],
    )


def missing_module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which releases have the module."""
    module = MODULE.search(match.quote)
    return _presence_of(*_split(module[1]), match) if module and not match.is_cut else None


def missing_keras_module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """The same for a module of Keras, which tf_keras has if the last Keras 2 has it."""
    meaning, module = missing_module(match, target), MODULE.search(match.quote)
    where = presence(*_split(module[1])) if module else None
    if meaning and where and (not where.spans or any(_is_in(LAST_KERAS_2, span) for span in where.spans)):
        meaning.ways_out.append(
            "for Keras 2 code on TensorFlow 2.16 or later, install the tf_keras with TensorFlow's "
            "version number, and import it instead of keras"
        )
    return meaning


def _is_in(version: str, span: tuple[str, str]) -> bool:
    return _numbers(span[0]) <= _numbers(version) <= _numbers(span[1])


def _used_module(line: str, name: str) -> str | None:
    """The module whose name a line of source code uses, as `tf.nn` in `tf.nn.relu(x)`."""
    uses = re.findall(rf"(?<![\w.])(tf|keras|K)((?:\.\w+)*)\.{re.escape(name)}\b", line)
    return ABBREVIATIONS[uses[-1][0]] + uses[-1][1] if uses else None


def _is_recorded(module: str, name: str) -> bool:
    where = presence(module, name)
    return where is not None and bool(where.spans)


def _known_name(name: str) -> Meaning | None:
    """Where a name is recorded if the message does not say which module should have it."""
    modules = modules_with(name) if len(name) >= DISTINCT else []
    if modules and (instead := _names_before_1().get(f"{STOCK}.{name}")):
        return Meaning([f"TensorFlow before 1.0 had tf.{name}; no recorded release has it there."], [instead])
    if not modules:
        return None
    nearest = [
        module
        for package in PRODUCTS
        for module in [m for m in modules if m.partition(".")[0] == package][:MOST_PLACES]
    ]
    places = [f"{module} ({presence(module, name)})" for module in nearest]
    more = " and others" if len(modules) > len(nearest) else ""
    shown = f"Recorded places of {name}: {', '.join(places)}{more}."
    return Meaning(
        [f"{shown} The message does not tell which one is meant."],
        [
            *dict.fromkeys(instead for m in modules if (instead := _replaced_names().get(f"{m}.{name}"))),
            "the last line of source code before the message shows where it is imported from: add that line",
        ],
    )


def _split(module: str) -> tuple[str, str | None]:
    """A module as a name of the one that contains it, since old releases have some of them as names only."""
    parent, _, name = module.rpartition(".")
    return (parent, name) if parent and presence(parent, name) else (module, None)


def _presence_of(module: str, name: str | None, match: MessageMatch) -> Meaning | None:
    where = presence(module, name)
    shown = public_name(module) + (f".{name}" if name else "")
    if where is None:
        return None
    product = PRODUCTS[where.package]
    if where.always:
        fact = (
            f"Every recorded release of {product} (since {where.first}) has {shown}: the installed one is "
            "incomplete or older, is mixed with packages of other releases (tensorflow-estimator, keras), "
            "or a file of the same name hides it."
        )
        mixed = "`pip list`: tensorflow, tensorflow-estimator and (2.6 to 2.15) keras have the same number"
        own = f"make sure that no file or folder of yours is named {where.package}; delete its `__pycache__`"
        short = "on Windows, allow long paths, or use an environment with a short path"
        return Meaning([fact], [own, mixed, *_reinstall(where.package, "otherwise, "), short])
    if not where.spans:
        return _not_recorded(module, name, where)
    since, last = where.spans[-1]
    compared, shown_by = _compared(where, match)
    if compared == OLDER:
        fact = f"{product} has {shown} {where}; {shown_by}, which is older."
        install = _install(where.package, f"{since} or later" if where.is_current else last)
        return Meaning([fact[0].upper() + fact[1:]], [install, *_ways_of_packages(where)])
    if compared == WITHIN:
        fact = f"{product} has {shown} {where}; {shown_by}."
        package = where.package
        shows = f"print({package}.__version__, {package}.__file__)"
        running = f"`python -c 'import {package}; {shows}'` shows which one runs"
        later = [_install(package, last)] if not where.is_current else []
        return Meaning(
            [fact[0].upper() + fact[1:], NOT_BY_PATCH], [running, *later, *_ways_of_packages(where)]
        )
    ways = [*_replacement(shown), *_places(module, name, where)]
    if where.is_current and len(where.spans) > 1 and compared is None:
        return _in_two_versions(shown, where, ways, match)
    if where.is_current:
        fact = f"{product} has {shown} {where}; the installed one is incomplete, or older."
        ways.append(_install(where.package, f"{since} or later"))
    else:
        is_first = compared == NEWER or where.spans[0][0] == where.first
        other = "newer" if is_first else f"newer, or older than {where.spans[0][0]}"
        fact = f"{product} has {shown} {where}; the installed one is {other}."
        ways.append(f"or {_install(where.package, last)}{_pythons(where.package, last)}")
    importing = _importing_package(match)
    if importing == where.package:
        mixed = (
            f"The file that imports it belongs to {where.package} itself: files from two versions are mixed."
        )
        return Meaning([fact[0].upper() + fact[1:], mixed], [*_reinstall(where.package), *ways])
    if importing == "keras" and where.is_current:
        ways.insert(0, "install the keras from the time of your TensorFlow (the package's file needs it)")
    broken = _reinstall(where.package, "otherwise, ") if where.is_current else []
    return Meaning([fact[0].upper() + fact[1:]], [*ways[:-1], *_ways_of_packages(where), ways[-1], *broken])


def _in_two_versions(shown: str, where: Presence, ways: list[str], match: MessageMatch) -> Meaning:
    """What is known of a name that was removed, and is there again in a later version."""
    product = PRODUCTS[where.package]
    (_, last), (since, _) = where.spans[-2:]
    fact = (
        f"{product} has {shown} {where}; the installed one is a different version, or incomplete. What "
        f"has been there since {since} may be something else with the same name."
    )
    old = f"for code from before {since}, {_install(where.package, last)}{_pythons(where.package, last)}"
    new = [f"for code of {since} and later, {_install(where.package, f'{since} or later')}"]
    if where.package != STOCK and since.startswith("3.") and match.circumstances.evidence(BEFORE_KERAS_3):
        new = []
    return Meaning([fact[0].upper() + fact[1:]], [*ways, *_ways_of_packages(where), old, *new])


OLDER, NEWER, WITHIN = "older", "newer", "within"
NOT_BY_PATCH = (
    "Only minor releases are recorded: it may have come with a later patch, or another version is installed, "
    "or an incomplete one."
)


def _compared(where: Presence, match: MessageMatch) -> tuple[str | None, str]:
    """How the version that the text tells compares with those that have the name, and what tells it."""
    known = match.circumstances.versions(where.package)
    spans = [(_numbers(first), _numbers(last)) for first, last in where.spans]
    if known and all(version.last[:2] < spans[0][0] for version in known):
        return OLDER, known[0].evidence
    if known and all(version.first[:2] > spans[-1][1] for version in known):
        return NEWER, known[0].evidence
    if known and all(
        any(span[0] <= version.first[:2] and version.last[:2] <= span[1] for span in spans)
        for version in known
    ):
        return WITHIN, known[0].evidence
    return None, ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _not_recorded(module: str, name: str | None, where: Presence) -> Meaning:
    """What is recorded about a name that no release has there: its replacement, or other places."""
    shown = public_name(module) + (f".{name}" if name else "")
    replacement = _replacement(shown)
    none = f"No recorded release of {PRODUCTS[where.package]} ({where.first} to {where.newest}) has {shown}."
    if shown in _names_before_1():
        return Meaning([none, "It is a name from before 1.0."], replacement)
    facts, ways = [none], replacement
    if name and shown.startswith(f"{KERAS_IN_TENSORFLOW}."):
        standalone = shown.removeprefix("tensorflow.")
        parent = standalone.rpartition(".")[0]
        if _is_recorded(parent, name):
            facts.append(f"The package keras has {standalone} {presence(parent, name)}.")
            ways = [*ways, *_replacement(standalone)]
    others = other_places(module, name) if name else []
    if others:
        facts.append(
            f"In {where.newest}, the same name is in {', '.join(others)}, which may be something else."
        )
    return Meaning([*facts, NOT_RECORDED], [*ways, *_ways_of_packages(where)])


def _importing_package(match: MessageMatch) -> str | None:
    """The package of the last file of the traceback before the message, if it is an installed one."""
    file = INSTALLED_FILE.search(match.circumstances.raising_file)
    return file[1].replace("tensorflow_core", "tensorflow") if file else None


def _reinstall(package: str, condition: str = "") -> list[str]:
    return [
        f"{condition}uninstall every {package} package, delete what is left of the folder {package} in "
        "site-packages, and install one of them again, in a new environment"
    ]


def _install(package: str, version: str) -> str:
    """The advice to install a release; that of Keras depends on TensorFlow's since 2.6."""
    if package == STOCK or version_key(version.partition(" ")[0]) < version_key(KERAS_OF_ITS_OWN_NUMBER):
        return f"install {package} {version}"
    if version.startswith("2."):
        return f"use TensorFlow {version}, which requires the keras with that version number"
    return f"install keras {version}, if TensorFlow is 2.16 or later: older ones require another Keras"


def _places(module: str, name: str | None, where: Presence) -> list[str]:
    if name is None or where.is_current:
        return []
    others = other_places(module, name)
    ways = [f"in your own code, use `{other.replace('tensorflow', 'tf', 1)}`" for other in others]
    if any(other.startswith(OLD_API) for other in others):
        ways.append(
            "for most TensorFlow 1 code, write `import tensorflow.compat.v1 as tf` and "
            "`tf.disable_v2_behavior()`; `tf_upgrade_v2 --infile OLD.py --outfile NEW.py` rewrites such names"
        )
    return ways


def _ways_of_packages(where: Presence) -> list[str]:
    return [
        "if the last file in the traceback belongs to a package, install that package's version for the "
        "installed {where.package}; `pip check` lists requirements that are not met"
    ]


def _pythons(package: str, minor: str) -> str:
    """For which Pythons the newest patch of a release has wheels."""
    if package != STOCK:
        return ""
    builds = [build for build in on_x86(atlas(), STOCK) if build.version.startswith(f"{minor}.")]
    pythons = builds[-1].facts.get("pythons") if builds else None
    return f" (it has wheels for Python {', '.join(pythons)})" if pythons else ""


def _replacement(name: str) -> list[str]:
    """What replaces a name; what replaces its module counts if it says nothing of other names only."""
    known = [known for known in _replaced_names() if f"{name}.".startswith(f"{known}.")]
    if not known:
        return []
    nearest = max(known, key=len)
    listed = IMPORTED.match(_replaced_names()[nearest])
    is_other = nearest != name and listed is not None and f"`{name.rpartition('.')[2]}`" not in listed[0]
    return [] if is_other else [_replaced_names()[nearest]]


def _replaced_names() -> dict[str, str]:
    return {name: instead for names in _replacements().values() for name, instead in names.items()}


def _names_before_1() -> dict[str, str]:
    return _replacements()["before-1"]


@functools.cache
def _replacements() -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = tomllib.loads(REPLACED.read_text("utf-8"))
    return tables
