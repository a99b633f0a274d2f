"""Record what TensorFlow's companion packages import from TensorFlow and Keras when they are imported.

    python tools/atlas/package_imports.py [PACKAGE …]

Writes src/tfport/env/package_imports.json.xz: for each version of `package_versions.json`, the modules
and names that importing the package imports, each with the first and the last release of TensorFlow
that reaches the import; only those that some recorded release does not have (`python_names`). The
sources are read from the wheel, not run: what a `try` catches, what a function does, and what depends
on anything but the version of TensorFlow is left out, because it may not happen.
"""

import ast
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from package_index import links
from packaging.version import InvalidVersion, Version
from remote_zip import open_zip

sys.path.append(str(Path(__file__).parents[2]))

from tests.compact_json import read_json, write_json

from tfport.atlas.package_versions import package_versions
from tfport.atlas.python_names import presence

OUT = Path(__file__).parents[2] / "src/tfport/env/package_imports.json.xz"
PACKAGES = {
    "gpflow": "gpflow",
    "kapre": "kapre",
    "keras-cv": "keras_cv",
    "keras-nlp": "keras_nlp",
    "keras-tuner": "keras_tuner",
    "tensorflow-addons": "tensorflow_addons",
    "tensorflow-compression": "tensorflow_compression",
    "tensorflow-decision-forests": "tensorflow_decision_forests",
    "tensorflow-gan": "tensorflow_gan",
    "tensorflow-gnn": "tensorflow_gnn",
    "tensorflow-graphics": "tensorflow_graphics",
    "tensorflow-hub": "tensorflow_hub",
    "tensorflow-lattice": "tensorflow_lattice",
    "tensorflow-model-optimization": "tensorflow_model_optimization",
    "tensorflow-probability": "tensorflow_probability",
    "tensorflow-quantum": "tensorflow_quantum",
    "tensorflow-ranking": "tensorflow_ranking",
    "tensorflow-recommenders": "tensorflow_recommenders",
    "tensorflow-recommenders-addons": "tensorflow_recommenders_addons",
    "tensorflow-text": "tensorflow_text",
    "tensorflow-transform": "tensorflow_transform",
    "tf-agents": "tf_agents",
    "tf-slim": "tf_slim",
    "tf2onnx": "tf2onnx",
}
"""Packages, each with the module that users import."""
RELEASES = [f"1.{minor}.0" for minor in (13, 14, 15)] + [f"2.{minor}.1" for minor in range(22)]
CATCHING = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
VERSION_TYPES = {"Version", "LooseVersion", "StrictVersion", "parse_version", "parse"}
PREFERRED = ("cp311", "cp310", "cp39", "cp38", "cp37", "cp36", "py3")
UNKNOWN = object()


def main(names: list[str]) -> None:
    recorded = read_json(OUT) if OUT.exists() else {}
    for package in names or PACKAGES:
        with ThreadPoolExecutor(8) as pool:
            versions = list(package_versions(package))
            rows = pool.map(lambda version, package=package: imports_of(package, version), versions)
            recorded[package] = {v: row for v, row in zip(versions, rows, strict=True) if row}
        print(package, len(versions), len(recorded[package]), flush=True)
        write_json(OUT, recorded)


def imports_of(package: str, version: str) -> dict[str, list[str]]:
    """The imports that some release does not satisfy, each with the releases that reach it."""
    try:
        sources = sources_of(package, version)
    except (OSError, LookupError, zipfile.BadZipFile) as error:
        print(package, version, error, file=sys.stderr)
        return {}
    reached: dict[str, list[str]] = {}
    for release in RELEASES:
        for wanted in Imports(sources, Version(release)).of(PACKAGES[package]):
            reached.setdefault(wanted, []).append(release.rpartition(".")[0])
    return {w: [releases[0], releases[-1]] for w, releases in sorted(reached.items()) if may_be_missing(w)}


def may_be_missing(wanted: str) -> bool:
    """Whether a recorded release has no such module or name; names that no release has may be dynamic."""
    module, _, name = wanted.partition(":")
    if module.startswith("tensorflow.keras"):  # depends on the Keras that is installed
        return False
    found = presence(module)
    if found is None or not found.spans:
        return False
    if found.always and name:
        found = presence(module, name)
    return found is not None and bool(found.spans) and not found.always


def sources_of(package: str, version: str) -> dict[str, list[ast.stmt]]:
    """The Python modules of a wheel."""
    wheels = {n: url for n, url in links(package) if n.endswith(".whl") and n.split("-")[1] == version}
    fits = [n for n in wheels if "linux_x86_64" in n or n.endswith("-any.whl") or "linux" in n]
    name = min(fits, key=lambda n: next((i for i, tag in enumerate(PREFERRED) if tag in n), len(PREFERRED)))
    sources = {}
    with open_zip(wheels[name]) as archive:
        for member in archive.namelist():
            if member.endswith(".py") and member.startswith(f"{PACKAGES[package]}/"):
                module = member.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                sources[module] = parsed(archive.read(member))
    return sources


def parsed(source: bytes) -> list[ast.stmt]:
    """The statements of a module; none for one that this Python cannot parse."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        return []


class Imports:
    """What importing a module imports from other packages, with one version of TensorFlow."""

    def __init__(self, sources: dict[str, list[ast.stmt]], release: Version) -> None:
        self.sources, self.release = sources, release
        self.packages = {module.rpartition(".")[0] for module in sources}

    def of(self, root: str) -> list[str]:
        todo, found = [root], []
        for module in todo:  # grows in the loop
            if module not in self.sources:
                continue
            for wanted in self.in_body(module, self.sources[module]):
                parts = wanted.replace(":", ".").split(".")
                if parts[0] == root:
                    own = (".".join(parts[: n + 1]) for n in range(len(parts)))
                    todo += [name for name in own if name not in todo]
                elif parts[0] in ("tensorflow", "keras") and wanted != "tensorflow:keras":
                    found.append(wanted)
        return list(dict.fromkeys(found))

    def in_body(self, module: str, body: list[ast.stmt]) -> Iterator[str]:
        for statement in body:
            match statement:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom():
                    yield from self.imported_from(module, statement)
                case ast.If(test=test, body=then, orelse=other):
                    if (value := self.value(test)) is not UNKNOWN:
                        yield from self.in_body(module, then if value else other)
                case ast.Try(body=tried, handlers=handlers, finalbody=last):
                    if not any(map(catches_imports, handlers)):
                        yield from self.in_body(module, tried)
                    yield from self.in_body(module, last)
                case ast.With(body=inner) | ast.ClassDef(body=inner):
                    yield from self.in_body(module, inner)
                case ast.Raise() | ast.Return():
                    return

    def imported_from(self, module: str, statement: ast.ImportFrom) -> Iterator[str]:
        base = statement.module or ""
        if statement.level:
            up = statement.level - (1 if self.is_package(module) else 0)
            start = module.rsplit(".", up)[0] if up else module
            base = f"{start}.{base}".rstrip(".")
        for alias in statement.names:
            yield base if alias.name == "*" else f"{base}:{alias.name}"

    def is_package(self, module: str) -> bool:
        return module in self.packages

    def value(self, node: ast.expr):
        """The value of an expression about the version of TensorFlow; UNKNOWN for any other."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
                return False
            case ast.Attribute(attr="__version__", value=ast.Name(id="tf" | "tensorflow")):
                return str(self.release)
            case ast.Attribute(attr="release" | "major" | "minor" as name, value=inner):
                version = self.value(inner)
                return getattr(version, name) if isinstance(version, Version) else UNKNOWN
            case ast.Call(func=function, args=[argument]) if called(function) in VERSION_TYPES:
                return version_of(self.value(argument))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self.value(operand)
                return value if value is UNKNOWN else not value
            case ast.BoolOp(op=op, values=parts):
                values = [self.value(part) for part in parts]
                if UNKNOWN in values:
                    return UNKNOWN
                return all(values) if isinstance(op, ast.And) else any(values)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compared(self.value(left), op, self.value(right))
        return UNKNOWN


def catches_imports(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(called(each) in CATCHING for each in types)


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def version_of(text):
    try:
        return Version(text) if isinstance(text, str) else UNKNOWN
    except InvalidVersion:
        return UNKNOWN


def compared(left, op: ast.cmpop, right):
    same = type(left) is type(right) and isinstance(left, Version | tuple | int)
    if not same:  # texts would be compared by letters
        return UNKNOWN
    match op:
        case ast.Lt():
            return left < right
        case ast.LtE():
            return left <= right
        case ast.Gt():
            return left > right
        case ast.GtE():
            return left >= right
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
    return UNKNOWN


if __name__ == "__main__":
    main(sys.argv[1:])
