"""Measure the structure of the project, at one or more commits side by side.

    python tools/structure.py [COMMIT…]         default: the working tree

Counts lines, modules, files and import circles, and the places in which a concept stands that should stand
once: lists of what an op is, builders of nodes, links between nodes.
`tests/test_architecture.py` keeps the counts from growing.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMALL, HEADER_END = 60, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Imports = dict[str, set[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    commits = parser.parse_args().commits
    columns = [measured(sources_at(commit), files_at(commit)) for commit in commits]
    columns = columns or [measured(sources_here(), files_here())]
    width = max(map(len, columns[0]))
    print(" " * width, *(f"{commit[:12]:>12}" for commit in commits or ["now"]))
    for name in columns[0]:
        print(f"{name:{width}}", *(f"{column[name]:>12,}" for column in columns))


def measured(sources: Mapping[str, str], files: int) -> dict[str, int]:
    """The counts, for modules by name with their texts."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    imports = {name: imported_by(name, tree, trees) for name, tree in trees.items()}
    rings = circles(imports)
    lines = {name: text.count("\n") for name, text in sources.items()}
    return {
        "lines in src": sum(lines.values()),
        "modules in src": len(sources),
        f"modules under {SMALL} lines": sum(count < SMALL for count in lines.values()),
        "lines before the first definition": sum(header_lines(tree) for tree in trees.values()),
        "modules with one importer, in their folder": sum(has_one_importer(imports)),
        "files in git": files,
        "import circles": len(rings),
        "modules in circles": sum(map(len, rings)),
        "lists of elementwise ops": sum(bool(re.search(r"\bAcosh\b", text)) for text in sources.values()),
        "classes that build nodes by the name of the op": sum(map(builders, trees.values())),
        "passes in the one list": sum(map(passes, sources.values())),
        "places that rebuild producers or readers": sum(map(rebuilt_links, sources.values())),
        "longest chain of imports": longest_chain(imports),
    }


def sources_here() -> dict[str, str]:
    return {module_name(path.relative_to(ROOT).as_posix()): path.read_text() for path in python_files(ROOT)}


def python_files(root: Path) -> list[Path]:
    paths = sorted((root / "src/tfport").rglob("*.py"))
    return [path for path in paths if not path.stem.endswith("_pb2")]


def files_here() -> int:
    return len(git("ls-files").splitlines())


def sources_at(commit: str) -> dict[str, str]:
    content = subprocess.run(
        ["git", "-C", ROOT, "archive", commit, "src/tfport"], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = [m for m in archive if m.name.endswith(".py") and not m.name.endswith("_pb2.py")]
        texts = {module_name(member.name): archive.extractfile(member) for member in members}
        return {name: file.read().decode() for name, file in texts.items() if file is not None}


def files_at(commit: str) -> int:
    return len(git("ls-tree", "-r", "--name-only", commit).splitlines())


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout


def module_name(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported_by(name: str, tree: ast.Module, modules: Mapping[str, object]) -> set[str]:
    """The modules of the package that a module imports, at any depth and for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(full if full in modules else node.module for full in inner)
    return {other for other in found if other in modules and other != name}


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    rings: list[list[str]] = []

    def visit(start: str) -> None:
        work: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(imports[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            name, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(imports[other]))))
                    break
                if other in stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    ring = stack[stack.index(name) :]
                    del stack[stack.index(name) :]
                    if len(ring) > 1:
                        rings.append(sorted(ring))

    for name in imports:
        if name not in index:
            visit(name)
    return rings


def header_lines(tree: ast.Module) -> int:
    """The lines before the first function or class; all of them if there is none."""
    last = 0
    for node in tree.body:
        if isinstance(node, HEADER_END):
            return min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        last = node.end_lineno or last
    return last


def has_one_importer(imports: Imports) -> Iterator[bool]:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in imports.items():
        for other in others:
            importers[other].add(name)
    for name, users in importers.items():
        yield len(users) == 1 and next(iter(users)).rpartition(".")[0] == name.rpartition(".")[0]


def builders(tree: ast.Module) -> int:
    """Classes whose attributes are ops: `__getattr__` returns what adds a node."""
    return sum(
        isinstance(node, ast.ClassDef)
        and node.name.endswith(("Builder", "Nodes"))
        and any(isinstance(part, ast.FunctionDef) and part.name == "__getattr__" for part in node.body)
        for node in ast.walk(tree)
    )


def passes(text: str) -> int:
    return len(re.findall(r"^@(?:graph|node|loop|program|host|island)_pass\b", text, re.M))


def rebuilt_links(text: str) -> int:
    return len(
        re.findall(
            r"^\s*(?:self\.)?_?(?:producers?|readers|users|made_by)\b[^=\n]*= (?:\{|defaultdict)", text, re.M
        )
    )


def longest_chain(imports: Imports) -> int:
    """How many modules one has to read at most, from a command down to a module that imports none."""
    depth: dict[str, int] = {}

    def of(name: str, above: frozenset[str]) -> int:
        if name not in depth:
            below = [of(other, above | {name}) for other in imports[name] if other not in above]
            depth[name] = 1 + max(below, default=0)
        return depth[name]

    return max(of(name, frozenset()) for name in imports)


if __name__ == "__main__":
    main()
