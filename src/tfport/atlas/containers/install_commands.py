"""The packages that shell commands install: pip, uv, conda, poetry, pipenv and apt.

`read_installs(script)` reads the text of a `RUN` instruction; nothing is executed. Files that a
command reads, such as requirements, are named, not opened.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from tfport.atlas.conda_packages import add_conda_spec
from tfport.atlas.package_requirement import PackageList
from tfport.atlas.requirements import AT_WHEEL, from_wheel_name, parse_requirement
from tfport.errors import Error
from tfport.startup.dataclass import dataclass, field

LONGEST_COMMAND = 1 << 14
PIP = re.compile(r"pip[\d.]*")
PYTHON = re.compile(r"python[\d.]*")
CONDA = ("conda", "mamba", "micromamba")
APT = ("apt-get", "apt", "aptitude")
PREFIXES = ("sudo", "time", "env", "exec", "command", "nice", "if", "then", "do", "!", "(", "{", "set")
ASSIGNMENT = re.compile(r"\w+=\S*")
SEPARATOR = re.compile(r"&&|\|\||[;|&\n()]")
PIP_WITH_VALUE = (
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "--prefix", "--root",
    "--platform", "--python-version", "--implementation", "--abi", "--trusted-host", "--cache-dir", "--src",
    "--upgrade-strategy", "--no-binary", "--only-binary", "--progress-bar", "--timeout", "--default-timeout",
    "--retries", "--proxy", "--cert", "--client-cert", "--log", "--python", "-p", "-w", "--wheel-dir", "-d",
    "--dest", "--report", "--use-feature", "--use-deprecated", "--config-settings", "--index",
    "--exists-action",
)  # fmt: skip
"""Options of pip and uv whose value is the next word."""
CONDA_WITH_VALUE = ("-n", "--name", "-p", "--prefix", "-c", "--channel", "--solver", "--repodata-fn")
LOCKED = {"poetry": "poetry.lock", "pipenv": "Pipfile.lock", "uv": "uv.lock", "pdm": "pdm.lock"}
"""Tools that install what a lock file of the project says, with its name."""
SERVER = "tensorflow-model-server"
MODEL_SERVER = re.compile(r"(tensorflow-model-server(?:-universal)?)(?:=(\d+(?:\.\d+)+)\S*)?")


@dataclass
class Installs:
    """What a command installs."""

    listing: PackageList = field(default_factory=PackageList)
    files: list[str] = field(default_factory=list)
    """Requirements, lock and environment files whose packages it installs."""
    constraints: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    """Words whose package or version is in a variable."""


def read_installs(script: str) -> Iterator[Installs]:
    """Yield what each command of a script installs."""
    for words in commands(script):
        if installs := _command(words):
            yield installs


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a script, each as its words; also of the JSON form of `RUN`."""
    if script.startswith("["):
        try:
            listed = json.loads(script)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(word, str) for word in listed):
            in_shell = len(listed) > 2 and listed[1] == "-c"
            yield from commands(" " + listed[2]) if in_shell else [listed]
            return
    for command in _split(script):
        words = _words(command)
        while words and (words[0] in PREFIXES or words[0].startswith("-") or ASSIGNMENT.fullmatch(words[0])):
            words = words[1:]
        if words:
            yield words


def _split(script: str) -> Iterator[str]:
    """Split at separators outside of quotes."""
    start, quote = 0, ""
    for match in re.finditer(r"\\.|[\"']|&&|\|\||[;|&\n()]", script, re.DOTALL):
        mark = match[0]
        if mark in ("'", '"'):
            quote = mark if not quote else "" if quote == mark else quote
        elif not quote and SEPARATOR.fullmatch(mark):
            yield script[start : match.start()]
            start = match.end()
    yield script[start:]


def _words(command: str) -> list[str]:
    text = command.strip()
    if not text or len(text) > LONGEST_COMMAND:
        return []
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # an open quote
        return text.split()


def _command(words: list[str]) -> Installs | None:
    if PYTHON.fullmatch(words[0].rpartition("/")[2]) and words[1:2] == ["-m"] and len(words) > 2:
        words = words[2:]
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "uv" and rest[:1] == ["pip"]:
        return _pip(rest[1:])
    if PIP.fullmatch(name):
        return _pip(rest)
    if name in CONDA:
        return _conda(rest)
    if name in APT:
        return _apt(rest)
    if name in ("bash", "sh") and "-c" in rest[:2]:
        script = rest[rest.index("-c") + 1 :][:1]
        return next(read_installs(" " + script[0]), None) if script else None
    if name in LOCKED and set(rest[:1]) & {"install", "sync"}:
        return Installs(files=[LOCKED[name]])
    return None


def _pip(words: list[str]) -> Installs | None:
    while words and words[0].startswith("-"):  # options before the command
        words = words[2:] if words[0] in PIP_WITH_VALUE else words[1:]
    if not words or words[0] not in ("install", "wheel", "download", "uninstall", "sync"):
        return None
    installs, rest = Installs(), iter(words[1:])
    for word in rest:
        if words[0] == "uninstall":
            installs.removed += [] if word.startswith("-") else [word.lower()]
        elif word in ("-r", "--requirement", "--requirements"):
            installs.files += [next(rest, "")]
        elif word in ("-c", "--constraint", "--constraints"):
            installs.constraints += [next(rest, "")]
        elif option := re.fullmatch(r"(?:-r|--requirements?=)(\S+)", word):
            installs.files.append(option[1])
        elif option := re.fullmatch(r"(?:-c|--constraints?=)(\S+)", word):
            installs.constraints.append(option[1])
        elif word in PIP_WITH_VALUE:
            next(rest, "")
        elif word in ("-e", "--editable"):
            _add_requirement(installs, next(rest, ""))
        elif not word.startswith(("-", ">", "<", "2>")):
            _add_requirement(installs, word)
    if words[0] == "sync":
        installs.files += [word for word in words[1:] if word.endswith(".txt")]
    return installs


def _add_requirement(installs: Installs, word: str) -> None:
    if re.fullmatch(r"(?:\.|\./?|/\S*|\$\{?\w+\}?)(?:\[[\w,-]*\])?", word) and not word.endswith(".whl"):
        installs.files += ["pyproject.toml"] if word.startswith(".") else []
        return
    try:
        if wheel := AT_WHEEL.search(word):
            installs.listing.wanted.append(from_wheel_name(wheel[0]))
        elif "$" in word:
            installs.unclear.append(word)
        elif wanted := parse_requirement(word):
            installs.listing.wanted.append(wanted)
    except Error:
        return  # a URL, a folder or an archive


def _conda(words: list[str]) -> Installs | None:
    if words[:1] == ["run"]:
        start = next(
            (n for n, word in enumerate(words) if PIP.fullmatch(word) or PYTHON.fullmatch(word)), None
        )
        return _command(words[start:]) if start is not None else None
    verbs = [word for word in words if not word.startswith("-")][:2]
    if not verbs or verbs[0] not in ("install", "create", "env", "update"):
        return None
    installs, rest = Installs(), iter(words[words.index(verbs[-1] if verbs[0] == "env" else verbs[0]) + 1 :])
    for word in rest:
        if word in ("-f", "--file"):
            installs.files += [next(rest, "")]
        elif word.startswith("--file="):
            installs.files.append(word.partition("=")[2])
        elif word in CONDA_WITH_VALUE:
            next(rest, "")
        elif "$" in word:
            installs.unclear.append(word)
        elif not word.startswith("-") and verbs[0] != "env":
            add_conda_spec(installs.listing, word)
    return installs


def _apt(words: list[str]) -> Installs | None:
    """Of all packages, only the model server matters."""
    server = next(filter(None, map(MODEL_SERVER.fullmatch, words)), None)
    if "install" not in words or server is None:
        return None
    wanted = parse_requirement(
        f"tensorflow-model-server=={server[2]}" if server[2] else "tensorflow-model-server"
    )
    return Installs(PackageList([wanted] if wanted else []))
