"""Selective registration: read and write `ops_to_register.h`, which selects ops and kernels.

TensorFlow built with `SELECTIVE_REGISTRATION` includes such a header and registers only
what it keeps. The header is parsed as text, from any version of TensorFlow's own tool or
written by hand; nothing is compiled or executed.
It selects kernels by their C++ class, such as `MatMulOp<CPUDevice, float, false>`. TensorFlow has
no list of classes: tools/atlas/kernel_classes.py queried the libraries of some releases for each
kernel, and stored them in `kernel_classes.sqlite`.
"""

from __future__ import annotations

import functools
import json
import re
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import Build, has_bit, open_database
from tfport.atlas.requirements import read_text
from tfport.errors import UnreadableFile
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import decode
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.reach import every_node
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, Selection, Source
from tfport.registry.resolve import usable_kernels
from tfport.startup.dataclass import dataclass, field

ALWAYS = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"})
"""Registered regardless of the header (REGISTER_SYSTEM_OP)."""
LOADING = {"NoOp": "NoOp", "_Recv": "RecvOp", "_Send": "SendOp"}
"""Ops that TensorFlow adds to every graph, and the classes of their kernels."""
NO_KERNEL = frozenset({"AccumulateNV2"})
"""Ops that TensorFlow replaces before it looks for a kernel."""

PIECE = re.compile(
    r'"(?P<text>(?:[^"\\\n]|\\.)*)(?:"|(?=\n)|\Z)'
    r"|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)"
    r"|//[^\n]*"
    r"|/\*.*?(?:\*/|\Z)"
    r"|\\\r?\n",
    re.DOTALL,
)
"""A string, a character, a comment, or a line continuation."""
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^()\n]*\))?[ \t]*(.*)$", re.MULTILINE)
FUNCTION = re.compile(r"\b(\w+)\s*\([^(){};]*\)\s*(?:const\b|noexcept\b|\s)*\{([^{}]*)\}")
VARIABLE = re.compile(r"\b(\w+)\s*(?:\[[^\[\]=;]*\])?\s*=([^;=]*);")
LITERAL = re.compile(r'"(\d+)"')
GROUP = re.compile(r'"\d+"(?:\s*"\d+")*')
EVERYTHING = re.compile(r"\W*(return)?\W*(true|1)\W*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
OP, KERNEL = "SHOULD_REGISTER_OP", "SHOULD_REGISTER_OP_KERNEL"


def read_header(path: str) -> Selection:
    """Read what a header keeps."""
    return parse_header(read_text(path), path)


def parse_header(text: str, where: str) -> Selection:
    header = _Header(text)
    op = OP if OP in header.meanings else "ShouldRegisterOp"
    if op not in header.meanings:
        raise UnreadableFile(f"{where}: not an ops_to_register.h: it does not define {OP}")
    ops = header.strings(op)
    kernels = header.strings(KERNEL) if KERNEL in header.meanings else None
    return Selection(
        None if ops is None else frozenset(ops) | ALWAYS, None if kernels is None else frozenset(kernels)
    )


class _Header:
    """The definitions of a C++ header that selective registration needs."""

    def __init__(self, text: str) -> None:
        self._literals: list[str] = []
        bare = PIECE.sub(self._hide, text)
        code = " ".join(DEFINE.sub("", bare).split())
        self.meanings: dict[str, str] = {}
        for pattern, source in ((VARIABLE, code), (FUNCTION, code), (DEFINE, bare)):
            for name, body in pattern.findall(source):
                self.meanings[name] = body

    def _hide(self, match: re.Match[str]) -> str:
        """Replace a string by its number, so that it does not look like code, and a comment by a space."""
        if match["text"] is None:
            return "0" if match[0][0] == "'" else " "
        self._literals.append(ESCAPE.sub(r"\1", match["text"]))
        return f'"{len(self._literals) - 1}"'

    def strings(self, name: str) -> list[str] | None:
        """Return the strings that a definition refers to; None if it keeps everything."""
        bodies = list(self._reached(name))
        if not any(map(LITERAL.search, bodies)) and any(map(EVERYTHING.fullmatch, bodies)):
            return None
        if any("strstr" in body for body in bodies):  # one long string with commas
            parts = (self._literals[int(n)].strip(",") for body in bodies for n in LITERAL.findall(body))
            return [part for part in parts if part]
        groups = (group for body in bodies for group in GROUP.findall(body))
        return ["".join(self._literals[int(n)] for n in LITERAL.findall(group)) for group in groups]

    def _reached(self, name: str) -> Iterator[str]:
        seen, waiting = {name}, [name]
        while waiting:
            body = self.meanings[waiting.pop()]
            yield body
            new = (n for n in re.findall(r"[A-Za-z_]\w*", body) if n in self.meanings and n not in seen)
            for inner in dict.fromkeys(new):
                seen.add(inner)
                waiting.append(inner)


class ReducedSource:
    """A source without the kernels whose classes a header leaves out."""

    def __init__(self, source: Source, selection: Selection, classes: KernelClasses) -> None:
        self._source, self._classes = source, classes
        self.build = getattr(source, "build", None)
        self._kept = {squeeze(name) for name in selection.kernels or ()}

    @property
    def name(self) -> str:
        return self._source.name

    def ops(self) -> list[str]:
        return self._source.ops()

    def definition(self, op: str) -> OpDef | None:
        return self._source.definition(op)

    def kernels(self, op: str) -> list[Kernel]:
        return [kernel for kernel in self._source.kernels(op) if op in ALWAYS or self._keeps(kernel)]

    def _keeps(self, kernel: Kernel) -> bool:
        name = self._classes.name(kernel)
        return name is None or squeeze(name) in self._kept


def squeeze(name: str) -> str:
    """Remove spaces from a class name, as the header does to compare."""
    return name.replace(" ", "")


@dataclass
class NeededOps:
    """What models need from a build."""

    ops: set[str] = field(default_factory=lambda: set(LOADING))
    classes: set[str] = field(default_factory=set)
    nameless: set[str] = field(default_factory=set)
    """Ops with a kernel whose class is unknown."""
    unknown: set[str] = field(default_factory=set)
    """Ops that the build does not register."""
    without_kernel: set[str] = field(default_factory=set)
    """Ops that the build registers without a matching kernel."""


def needed_by(models: Iterable[Model], registry: OpRegistry, classes: KernelClasses | None) -> NeededOps:
    """Collect the ops of models and of all their functions, and the classes of their CPU kernels."""
    needed = NeededOps(classes={LOADING[op] for op in LOADING})
    for model in models:
        functions = model.graph.library.functions
        for node in every_node(model.graph):
            if node.op and node.op not in functions and node.op not in ALWAYS:
                _add(needed, node, registry, classes)
    needed.without_kernel -= needed.ops
    return needed


def _add(needed: NeededOps, node: Node, registry: OpRegistry, classes: KernelClasses | None) -> None:
    if node.op not in registry:
        needed.unknown.add(node.op)
        return
    kernels = _usable_kernels(node, registry)
    if not kernels and node.op not in NO_KERNEL:
        needed.without_kernel.add(node.op)
        return
    needed.ops.add(node.op)
    for kernel in kernels:
        name = classes.name(kernel) if classes else None
        if name is None:
            needed.nameless.add(node.op)
        else:
            needed.classes.add(name)


def _usable_kernels(node: Node, registry: OpRegistry) -> list[Kernel]:
    """Return the CPU kernels that could run a node; several if its types depend on the caller."""
    defaults = {attr.name: decode(attr.default_value) for attr in registry[node.op].attr}
    return usable_kernels({**defaults, **node.attrs}, registry.kernels(node.op), "CPU")


def write_header(models: Iterable[Model], registry: OpRegistry) -> str:
    """Return an `ops_to_register.h` that keeps what the models need.

    It restricts kernel classes only if the classes of all kernels are known. The first
    lines of the header list what was left out.
    """
    models = list(models)
    classes = next((c for source in registry.sources if (c := classes_of(source))), None)
    needed = needed_by(models, registry, classes)
    return "\n".join(
        [*_header_comment(models, registry, needed), *_kernels(needed), *_ops(needed), "#endif", ""]
    )


def _header_comment(models: list[Model], registry: OpRegistry, needed: NeededOps) -> Iterator[str]:
    yield f"// The ops and kernels that these models need from {registry.name}, written by tfport:"
    yield from (f"//   {' '.join(model.where.split())}" for model in models)
    if needed.unknown:
        yield f"// Left out, because they are not registered: {', '.join(sorted(needed.unknown))}"
    if needed.without_kernel:
        yield f"// Left out, because they have no CPU kernel: {', '.join(sorted(needed.without_kernel))}"
    if needed.nameless:
        yield "// All kernels are kept: the classes of some are not recorded for this release."
    yield "#ifndef OPS_TO_REGISTER"
    yield "#define OPS_TO_REGISTER"
    yield ""
    yield _COMPARE


# C++11 allows a constexpr function only a single return; halving limits the depth of calls
_COMPARE = """\
namespace {
constexpr const char* skip(const char* x) { return *x == ' ' ? skip(x + 1) : x; }

constexpr bool isequal(const char* x, const char* y) {
  return *skip(x) == *skip(y) && (!*skip(x) || isequal(skip(x) + 1, skip(y) + 1));
}

constexpr bool find_in(const char* x, const char* const* list, int size) {
  return size < 2 ? size == 1 && isequal(x, *list)
                  : find_in(x, list, size / 2) || find_in(x, list + size / 2, size - size / 2);
}
}  // namespace
"""


def _kernels(needed: NeededOps) -> Iterator[str]:
    if needed.nameless:
        yield f"#define {KERNEL}(clz) true"
    else:
        yield "constexpr const char* kNecessaryOpKernelClasses[] = {"
        yield from (f'    "{name}",' for name in sorted(needed.classes))
        yield "};"
        yield f"#define {KERNEL}(clz) \\"
        yield "  (find_in(clz, kNecessaryOpKernelClasses, \\"
        yield "           sizeof(kNecessaryOpKernelClasses) / sizeof(*kNecessaryOpKernelClasses)))"
    yield ""


def _ops(needed: NeededOps) -> Iterator[str]:
    yield "constexpr inline bool ShouldRegisterOp(const char op[]) {"
    yield "  return false"
    yield from (f'      || isequal(op, "{op}")' for op in sorted(needed.ops))
    yield "      ;"
    yield "}"
    yield f"#define {OP}(op) ShouldRegisterOp(op)"
    yield ""
    yield f"#define SHOULD_REGISTER_OP_GRADIENT {'true' if 'SymbolicGradient' in needed.ops else 'false'}"
    yield ""


# The C++ classes of kernels.


class ClassTable:
    """The classes of all recorded releases; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_database(path)
        self._lock = threading.Lock()
        weakref.finalize(self, self._database.close)
        rows = self.rows("SELECT package, version, number FROM release")
        self._numbers = {(package, version): number for package, version, number in rows}

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def releases(self) -> list[tuple[str, str]]:
        return sorted(self._numbers)

    def of(self, build: Build) -> KernelClasses | None:
        """Return the classes of one build; None if they are not recorded."""
        number = self._numbers.get((build.package, build.version))
        return None if number is None else KernelClasses(self, number)


class KernelClasses:
    """The classes of the kernels of one build."""

    def __init__(self, table: ClassTable, number: int) -> None:
        self._table, self._number = table, number
        self._read: dict[str, dict[str, str]] = {}

    def name(self, kernel: Kernel) -> str | None:
        """Return the class of a kernel; None if it is unknown."""
        if kernel.op not in self._read:
            rows = self._table.rows("SELECT classes, releases FROM class WHERE op = ?", kernel.op)
            bodies = (body for body, bits in rows if has_bit(bits, self._number))
            self._read[kernel.op] = {k: v for b in bodies for k, v in json.loads(zlib.decompress(b)).items()}
        return self._read[kernel.op].get(kernel_key(kernel))


def kernel_key(kernel: Kernel) -> str:
    """Return a key that identifies a kernel among those of its op: device, label and constraints."""
    constraints = (f"{n}={','.join(sorted(map(str, v)))}" for n, v in sorted(kernel.constraints.items()))
    return " ".join([kernel.device, *([f"label={kernel.label}"] if kernel.label else []), *constraints])


def classes_of(source: object) -> KernelClasses | None:
    """Return the kernel classes of a source, if it is a recorded build that has them."""
    build = getattr(source, "build", None)
    return class_table().of(build) if isinstance(build, Build) else None


@functools.cache
def class_table() -> ClassTable:
    return ClassTable(Path(__file__).with_name("kernel_classes.sqlite"))
