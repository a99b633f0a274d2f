"""A finding: one problem that `check` or `lib` reports. The base class and the decorators that declare.

A finding class is the code, the message and the page: the first line of its docstring is
the message, the rest is what `tfport explain CODE` prints. `cause` says what is known
about this case, `says` what TensorFlow itself would print, `fixes` what to do, the
cheapest first. The decorator says when each loader notices it:

    @finding("TFP021", "no-variables", noticed=FILES)
    class NoVariables(Finding): ...

    @finding("TFP101", "unregistered-op", noticed={Question.OP: STRUCTURE})
    class UnregisteredOp(Finding): ...

The first is made by a function with `@check`, which yields findings for a model. The second
answers a question of the registry: its classmethod `of` makes the finding for nodes that a
target does not resolve. `check.check` decides the stage of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from tfport.atlas.target import OURS, Target
from tfport.check.loader_stages import LOAD, NOT_CHECKED, RUN, STRUCTURE, Noticed
from tfport.discovery import STALE, Catalog
from tfport.errors import Error
from tfport.graph.graph import Function, Node
from tfport.registry.unresolved import Question, Unresolved

if TYPE_CHECKING:
    from tfport.check.checked_model import CheckedModel, UnresolvedNodes
    from tfport.check.loaders import Loader
    from tfport.check.node_contexts import NodesByContext

__all__ = ["ERROR", "LOAD", "NOTE", "RUN", "WARNING", "Finding", "check", "finding"]

ERROR, WARNING, NOTE = "error", "warning", "note"


class _DocstringPart:
    """The first line of a finding's docstring, or the rest; split when it is read."""

    def __init__(self, part: int) -> None:
        self.part = part
        self._texts: dict[type, str] = {}

    def __get__(self, _: object, owner: type) -> str:
        if owner not in self._texts:
            import inspect  # here, as most findings are not reported

            first, _, rest = inspect.cleandoc(owner.__doc__ or "").partition("\n")
            self._texts[owner] = (first, rest.strip())[self.part]
        return self._texts[owner]


@dataclass_transform(kw_only_default=True, eq_default=False)
class _KeywordFields:
    """Accepts the fields of its class by keyword, as a dataclass does; hundreds of them import slowly."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


class Finding(_KeywordFields):
    """The base class of findings. A subclass declares further fields with their types."""

    code: ClassVar[str]
    name: ClassVar[str]
    """What is wrong, in a few words: `unregistered-op`."""
    title: ClassVar[Any] = _DocstringPart(0)
    """The message with its placeholders."""
    page: ClassVar[Any] = _DocstringPart(1)
    default_severity: ClassVar[str]
    """Its severity where it is noticed."""
    noticed: ClassVar[Noticed | Mapping[Question, Noticed] | Mapping[str, Noticed]]
    """When each loader notices it; by question of the registry, or by `case`, where that differs."""
    decides: ClassVar[bool] = True
    """Whether the verdict is `fails`; otherwise it is `unknown`."""

    on: Target = None  # type: ignore[assignment]
    """The target; `check` sets it."""
    nodes: Sequence[Node] = ()
    """The affected nodes, the most important first."""
    op: str | None = None
    attr: str | None = None
    case: str = ""
    """Its key in `noticed`, if that has several cases."""
    unresolved: Unresolved | None = None
    """The registry's answer behind it, if any."""
    contexts: NodesByContext | None = None
    """Its nodes by context, if already known."""
    stage: str | None = None
    """`load` or `run`: when it is noticed; None if never, as for nodes that only training runs."""
    signature: str | None = None
    """The one signature that it is about, if it is about one."""
    signatures: Sequence[str] = ()
    """The signatures that it stops."""
    doubt: str = ""
    """Why it may not be noticed; the verdict is then `unknown`."""
    ways_out: Sequence[str] = ()
    """Further fixes, such as the nearest releases that run the model."""

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<{self.code} {self.name}: {self.message}>"

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        """The finding for nodes that a target does not resolve; None if this class does not apply."""
        raise NotImplementedError(f"{cls.__name__} does not answer a question of the registry")

    @classmethod
    def is_about_library(cls) -> bool:
        """Whether it is about a custom-op library."""
        return isinstance(cls.noticed, Noticed) and cls.noticed.dlopen != NOT_CHECKED

    def on_target(self, target: Target) -> Self:
        """A copy for a target, so that it has its own stage."""
        alone = copy(self)
        alone.on = target
        return alone

    @property
    def target(self) -> str:
        return self.on.name

    @property
    def severity(self) -> str:
        """An error that no requested signature reaches is only a note."""
        return NOTE if self.default_severity == ERROR and self.stage is None else self.default_severity

    @property
    def message(self) -> str:
        """The title with its placeholders filled."""
        return str(self.title).format_map(_Placeholders(self))

    @property
    def node(self) -> str | None:
        return self.nodes[0].name if self.nodes else None

    @property
    def function(self) -> str | None:
        return function_of(self.nodes[0]) if self.nodes else None

    def declared(self) -> Noticed:
        """What its class declares for its question or case."""
        noticed: Any = self.noticed
        if not isinstance(noticed, Noticed):
            noticed = noticed[self.unresolved.question if self.unresolved is not None else self.case]
        return cast(Noticed, noticed)

    def when(self) -> Noticed:
        """When each loader notices it: as declared, unless it keeps a node from being built at all."""
        is_structural = self.unresolved is not None and self.unresolved.structural
        return STRUCTURE if is_structural else self.declared()

    def cause(self) -> str:
        """What is known about this case."""
        return ""

    def says(self) -> str | None:
        """The text that TensorFlow would print, if known."""
        return None

    @property
    def tensorflow_says(self) -> str | None:
        """The text on the target; None for tfport's own runtime, which is not TensorFlow."""
        return None if self.on.kind == OURS else self.says()

    def fixes(self) -> list[str]:
        """What to do, the cheapest first."""
        return []


def function_of(node: Node) -> str | None:
    """The function whose body has a node; None for the main graph."""
    return node.graph.name if isinstance(node.graph, Function) else None


class _Placeholders(dict[str, Any]):
    """The fields and properties of a finding, for its message."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self._finding = finding

    def __missing__(self, name: str) -> Any:
        return getattr(self._finding, name)


AnyFinding = TypeVar("AnyFinding", bound=Finding)


def merged(findings: Iterable[AnyFinding]) -> list[AnyFinding]:
    """One finding for all nodes with the same problem."""
    groups: dict[tuple[object, ...], AnyFinding] = {}
    for finding in findings:
        fields = ((name, str(value)) for name, value in vars(finding).items() if name != "nodes")
        first = groups.setdefault((type(finding), *fields), finding)
        if first is not finding:
            first.nodes = [*first.nodes, *finding.nodes]
    return list(groups.values())


Check = Callable[["CheckedModel", Target, "Loader"], Iterator[Finding]]
PACKAGE = "tfport.check.findings"
SCANNED = "TFP9"
"""How the codes of `scan` begin."""
FINDINGS = Catalog[type[Finding]]("findings", PACKAGE, "tfport.scan")
"""Finding classes by code."""
ANSWERS = Catalog[type[Finding]]("answers", PACKAGE)
"""The finding classes that answer a question of the registry, by its name."""
CHECKS = Catalog[Check]("checks", PACKAGE)
"""The functions that yield findings for a model, by name."""
F = TypeVar("F", bound=type[Finding])
C = TypeVar("C", bound=Check)


def finding(
    code: str,
    name: str,
    severity: str = ERROR,
    *,
    noticed: Noticed | Mapping[Question, Noticed] | Mapping[str, Noticed],
) -> Callable[[F], F]:
    """Declare a finding class."""

    def declare(declared: F) -> F:
        declared.code, declared.name = code, name
        declared.default_severity, declared.noticed = severity, noticed
        FINDINGS.add(code, declared)
        for question in noticed if isinstance(noticed, Mapping) else ():
            if isinstance(question, Question):
                ANSWERS.add(question.name, declared)
        return declared

    return declare


def check(function: C) -> C:
    """Declare a function that yields the findings of a model on a target with a loader."""
    CHECKS.add(function.__name__, function)
    return function


def finding_class(code: str) -> type[Finding] | None:
    """The class of a code; None for a code that does not exist."""
    return next(iter(FINDINGS.of(code)), None)


def name_of(code: str) -> str:
    """What is wrong, in a few words."""
    return FINDINGS.of(code)[0].name


def all_findings() -> dict[str, type[Finding]]:
    """Every finding class by code, in order."""
    return {code: classes[0] for code, classes in sorted(FINDINGS.all().items())}


def model_findings() -> dict[str, type[Finding]]:
    """The finding classes of `check`; the others are warnings about libraries, and what `scan` finds."""
    return {
        code: declared
        for code, declared in all_findings().items()
        if not code.startswith(SCANNED)
        if not declared.is_about_library() or declared.default_severity == ERROR
    }


def scan_findings() -> dict[str, type[Finding]]:
    """The finding classes of `scan`."""
    return {code: declared for code, declared in all_findings().items() if code.startswith(SCANNED)}


def answering(question: Question) -> list[type[Finding]]:
    """The finding classes that answer a question of the registry."""
    classes = ANSWERS.of(question.name)
    if not classes:
        raise Error(f"no finding answers {question.name}; {STALE}")
    return classes
