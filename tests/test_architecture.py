"""The structure of the project: layers, names, folders and the tests that mirror them.

`docs/dev/architecture.md` describes what these tests enforce.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.structure import circles

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "tfport"
TESTS = ROOT / "tests"

LAYERS = [
    {"formats"}, {"graph"}, {"frontends"}, {"registry"}, {"atlas"},
    {"check"}, {"scan", "inspection", "explain", "lib", "env", "matrix"},
    {"runtime"}, {"fix"}, {"audit"}, {"serve", "batch"}, {"spark", "beam", "ray", "mlflow"},
    {"reports"}, {"web"}, {"cli"},
]  # fmt: skip
"""A layer may import the layers before it, and none behind it; siblings may import each other."""
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
BELOW_ALL_LAYERS = {
    "errors", "discovery", "engine_names", "extras", "operating_system", "progress_step", "python_file",
    "rendering", "startup", "static_page", "words",
}  # fmt: skip
"""Modules that every layer may import, and that import no layer."""
LARGEST_FOLDER = 40
MOST_MODULES = 1_476
"""A ratchet: lower it when modules were merged."""
OP_LISTS = {
    "graph.op_facts.kinds", "runtime.onnx.op_facts",  # what an op is: of TensorFlow, and of ONNX
    "runtime.ops.math.kernels.elementwise", "runtime.ops.math.lowerings.elementwise",  # what it computes
    "frontends.keras.layers.operations.elementwise",  # what Keras calls it
    "frontends.keras.layers.tensorflow.op_functions",  # what TensorFlow's Python API calls it
}  # fmt: skip
"""The modules that may list elementwise ops, each for another question."""
VAGUE = re.compile(r"given|said|told|held|found|one|ones|thing|things|stuff")
VAGUE_FUNCTION = re.compile(r"given|said|told|held|found|thing|things|stuff")
COUNT = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d{2,}) (?:op |real |recorded |published |host |small )?"
    r"(?:releases|builds|ops|op types|kernels|lowerings|rules|codes|findings|messages|models|SavedModels"
    r"|outcomes|libraries|loads|pairs|packages|add-ons|formats)\b"
)
NOT_PROSE = re.compile(r"^```.*?^```|^    .*?$|<!-- count .*?<!-- end -->|`[^`\n]*`", re.M | re.S)
WRITTEN_BY_TOOLS = ("docs/truth/fix.md", "docs/codes/")
TESTED_BY_PARENT = {"kernels", "lowerings", "proto"}
"""Packages whose tests are in the folder of their parent: an op is tested as a whole."""


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of src by its dotted name, parsed; generated ones excluded."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if not path.stem.endswith("_pb2")]
    return {module_name(path): ast.parse(path.read_text()) for path in paths}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def is_package(name: str) -> bool:
    return (SRC / Path(*name.split("."))).is_dir()


@cache
def imports() -> dict[str, dict[str, int]]:
    """The modules of tfport that each module imports, at any depth, with the line."""
    return {name: dict(imported_by(name, tree)) for name, tree in modules().items()}


def statements(parent: ast.AST) -> Iterator[ast.AST]:
    """The statements below a node, at any depth; most nodes are expressions."""
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(parent, part, ()):
            yield node
            yield from statements(node)


def imported_by(name: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = absolute(name, node)
            if is_ours(base):
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    yield (full if full in modules() else base), node.lineno


def absolute(name: str, node: ast.ImportFrom) -> str:
    """The module that an import names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    package = name.split(".") if is_package(name) else name.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def is_ours(name: str) -> bool:
    return name == "tfport" or name.startswith("tfport.")


def layer_of(name: str) -> str:
    """The layer of a module, or the name of a module outside of the layers; empty for `tfport` itself."""
    return name.partition(".")[2].partition(".")[0]


def test_every_package_is_a_layer():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert (packages | modules) - BELOW_ALL_LAYERS == set(RANKS)


def test_imports_point_one_way():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, by_module in imports().items()
        for imported, line in by_module.items()
        if not may_import(name, imported)
    ]
    assert not wrong, "\n".join(wrong)


def may_import(name: str, imported: str) -> bool:
    importer, layer = layer_of(name), layer_of(imported)
    if importer in ("", "__main__"):
        return True
    if layer in BELOW_ALL_LAYERS:
        return True
    if importer in BELOW_ALL_LAYERS:
        return False
    if layer == "":
        return importer in ("web", "cli")  # pages and commands call the public API
    return RANKS[layer] <= RANKS[importer]


def test_a_relative_import_is_resolved():
    node = ast.parse("from ..graph.model import Model").body[0]
    assert isinstance(node, ast.ImportFrom)
    assert absolute("tfport.check.check", node) == "tfport.graph.model"
    assert not may_import("tfport.graph.model", "tfport.check.check")


def test_private_modules_are_imported_only_in_their_own_folder():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, by_module in imports().items()
        for imported, line in by_module.items()
        if (parent := private_parent(imported)) and not f"{name}.".startswith(f"{parent}.")
    ]
    assert not wrong, "\n".join(wrong)


def private_parent(imported: str) -> str | None:
    """The package that a private module, such as `tfport.fix._sizes`, belongs to."""
    parts = imported.split(".")
    for index, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            return ".".join(parts[:index])
    return None


def test_class_names_are_unique():
    homes = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    repeated = {name: where for name, where in homes.items() if len(where) > 1}
    assert not repeated, "\n".join(f"{name}: {', '.join(where)}" for name, where in repeated.items())


def test_no_folder_has_too_many_modules():
    sizes = {folder: len(list(folder.glob("*.py"))) for folder in folders(PACKAGE)}
    large = {str(folder.relative_to(SRC)): size for folder, size in sizes.items() if size > LARGEST_FOLDER}
    assert not large


def folders(root: Path) -> list[Path]:
    inner = [path for path in sorted(root.rglob("*")) if path.is_dir() and path.name != "__pycache__"]
    return [root, *inner]


def test_no_modules_import_each_other():
    """Also through functions and for type checkers: a circle through them is still a circle."""
    rings = circles({name: set(others) & set(modules()) for name, others in imports().items()})
    assert not rings, "\n".join(" <-> ".join(ring) for ring in rings)


def test_there_are_not_more_modules():
    count = len(modules())
    assert count <= MOST_MODULES, f"{count} modules: merge siblings that are one thought"
    assert count > MOST_MODULES - 60, f"{count} modules: lower MOST_MODULES"


def test_what_an_op_is_stands_once():
    """`Acosh` is in every list of elementwise ops."""
    lists = {path for path in PACKAGE.rglob("*.py") if re.search(r"\bAcosh\b", path.read_text())}
    assert {module_name(path).removeprefix("tfport.") for path in lists} == OP_LISTS


def test_tests_mirror_the_source():
    missing = [
        str(mirror.relative_to(ROOT))
        for folder in folders(PACKAGE)[1:]
        if (folder / "__init__.py").exists() and not TESTED_BY_PARENT & set(folder.relative_to(PACKAGE).parts)
        if not any((mirror := TESTS / folder.relative_to(PACKAGE)).rglob("test_*.py"))
    ]
    assert not missing, "\n".join(missing)


def test_no_variable_has_a_vague_name():
    vague = [
        f"{name}:{line} {variable}"
        for name, tree in modules().items()
        for variable, line in vague_names(tree)
    ]
    assert not vague, "\n".join(vague)


def vague_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Variables, arguments, fields and functions of a module with a name that does not say what they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and VAGUE.fullmatch(node.id):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg) and VAGUE.fullmatch(node.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and VAGUE_FUNCTION.fullmatch(node.name):
            yield node.name, node.lineno


def test_counts_in_pages_are_computed():
    """A number of releases, ops, models and so on is marked, so that `tests/test_docs.py` verifies it."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    stated = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages
        if not str(page.relative_to(ROOT)).startswith(WRITTEN_BY_TOOLS)
        for match in COUNT.finditer(NOT_PROSE.sub("", page.read_text()))
    ]
    assert not stated, "mark it: <!-- count NAME -->…<!-- end --> (tools/doc_counts.py)\n" + "\n".join(stated)


def test_every_folder_of_modules_is_a_package():
    """Discovery finds nothing in a folder without `__init__.py`."""
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_dataclasses_are_those_that_compile_later():
    wrong = [
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses" and layer_of(name) != "startup"
        if {"dataclass", "field", "replace"} & {alias.name for alias in node.names}
    ]
    assert not wrong, f"import from tfport.startup.dataclass, which takes less time: {wrong}"
