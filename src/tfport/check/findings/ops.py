"""Is every op registered in the target? Findings 1xx."""

from __future__ import annotations

import functools

from packaging.specifiers import SpecifierSet

from tfport.atlas.atlas import Atlas, RecordedSource, atlas
from tfport.atlas.choose_builds import choose_addon
from tfport.atlas.op_search import OpSummary, earlier_ops, suggestions, summaries
from tfport.atlas.release_spans import spans_text
from tfport.atlas.requirements import PackageRequirement
from tfport.atlas.target import OURS, Target
from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.own_runtime import op_not_run
from tfport.check.findings.trouble import Trouble, answers
from tfport.errors import Error
from tfport.registry.unresolved import Question


@finding("TFP101", "unregistered-op")
class UnregisteredOp(Finding):
    """op `{op}` is not registered in {target}

    ## Cause
    The op came with a later release than the target, was removed before it, or a
    reduced build left it out. The binary knows nothing of it, so nothing in the
    model's files can be right or wrong about it. `tfport ops NAME` tells its history.
    ## Fix
    Use a release that registers it, or write the model without it: exporting from an
    older TensorFlow often does. In a reduced build, add the op to `ops_to_register.h`;
    `tfport targets header MODEL --for TARGET` writes one.
    ## Example
        a = Placeholder() {dtype=float32, shape=(2, 2)}
        y = BatchMatMulV2(a, a) {T=float32}
        on tensorflow==1.13.2
    """

    released: str
    """Where TensorFlow registers it."""
    reduced: bool = False
    instead: str = ""
    """The op of the same name with a lower number that the target has."""

    def cause(self) -> str:
        if self.reduced:
            return f"the reduced build leaves it out; {self.on.build and self.on.build.name} registers it"
        only = f"; {self.target} has {self.instead} only" if self.instead else ""
        return f"registered {self.released}{only}"

    def says(self) -> str:
        return wording.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        if self.reduced:
            return [f"add {self.op} to the header that the build was made with"]
        return []


@finding("TFP102", "unknown-op")
class UnknownOp(Finding):
    """op `{op}` is in no recorded release of TensorFlow and in no recorded add-on

    ## Cause
    A custom op: it comes with a library that somebody built, and nobody has recorded
    it. Whether the model runs depends on that library being loaded, so the verdict is
    `unknown`. Without it TensorFlow says that the op is not registered.
    ## Fix
    Name its library with `--library FILE`, or record the build that has it with `tfport
    targets record` and name that file as the target. Where the graph was written by hand,
    check the spelling.
    ## Example
        y = Acme>Tokenize()
        on tensorflow==2.8.4
    """

    decides = False
    near: tuple[str, ...] = ()

    def cause(self) -> str:
        return f"close to {' and '.join(self.near)}" if self.near else "a custom op"

    def says(self) -> str:
        return wording.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        return ["name its library with --library FILE"]


@finding("TFP103", "library-not-loaded")
class LibraryNotLoaded(Finding):
    """op `{op}` is registered by {providers}, which {target} does not load

    ## Cause
    TensorFlow itself does not bring the op: an add-on package does, or a library of
    `tf.contrib`, and only once it is imported. TensorFlow's message is the same as for
    an op that nobody has.
    ## Fix
    Install the add-on in a version that goes with the release, and import it before
    loading the model; of contrib, import the module. A server that cannot import needs
    a build with the library linked in.
    ## Example
        t = Placeholder() {dtype=string, shape=(1,)}
        y = CaseFoldUTF8(t)
        on tensorflow==2.8.4
    """

    packages: tuple[str, ...] = ()
    """Requirements that bring it to this target."""
    libraries: tuple[str, ...] = ()
    """Libraries of the target's own wheel that bring it."""
    known: tuple[str, ...] = ()
    """All that are recorded to bring it."""

    @property
    def providers(self) -> str:
        return " or ".join(self.libraries or self.known)

    def cause(self) -> str:
        return f"{self.target} registers it only once that is imported"

    def says(self) -> str:
        return wording.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        modules = [library.rpartition("/python/")[0].replace("/", ".") for library in self.libraries]
        imports = [f"import tf.{module} before the model is loaded" for module in modules if module]
        return imports + [f"pip install '{package}' and import it first" for package in self.packages]


@answers(Question.OP)
def unregistered(trouble: Trouble) -> Finding:
    op, target, known = trouble.op, trouble.target, atlas()
    history = _history(op)
    if target.kind == "reduced" and any(source.definition(op) for source in target.registry.sources):
        return UnregisteredOp(on=target, nodes=trouble.nodes, op=op, released="", reduced=True)
    if target.kind == OURS:
        return op_not_run(trouble, "TensorFlow" if history.releases else " or ".join(history.providers))
    libraries = _libraries(target, op)
    if libraries or (history.providers and not history.releases):
        return LibraryNotLoaded(
            on=target,
            nodes=trouble.nodes,
            op=op,
            libraries=libraries,
            packages=_packages(history, target, known),
            known=tuple(history.providers),
        )
    if not history.releases and not history.providers:
        return UnknownOp(on=target, nodes=trouble.nodes, op=op, near=_near(op))
    earlier = next((name for name in earlier_ops(op) if name in target.registry), "")
    released = spans_text(history.releases)
    return UnregisteredOp(on=target, nodes=trouble.nodes, op=op, released=released, instead=earlier)


@functools.lru_cache(1024)
def _history(op: str) -> OpSummary:
    (history,) = summaries(atlas(), [op])
    return history


@functools.lru_cache(1024)
def _near(op: str) -> tuple[str, ...]:
    return tuple(suggestions(atlas(), op, 1))


def _libraries(target: Target, op: str) -> tuple[str, ...]:
    sources = (source for source in target.registry.sources if isinstance(source, RecordedSource))
    return tuple(library for source in sources for library in source.providers(op))


def _packages(history: OpSummary, target: Target, known: Atlas) -> tuple[str, ...]:
    """The add-ons with the op, each in the version that goes with the target's release."""
    found = []
    for package in history.providers:
        try:
            choice = target.build and choose_addon(
                PackageRequirement(package, SpecifierSet()), target.build, known
            )
        except Error:
            continue
        if choice and known.source(choice.build).definition(history.name) is not None:
            found.append(choice.requirement)
    return tuple(found)


@finding("TFP104", "op-too-old")
class OpTooOld(Finding):
    """op `{op}` may not be in a graph of version {producer} or later; {target} takes this one for {found}

    ## Cause
    Ops are taken out of use by the version of the GraphDef: graphs written before that
    version may still have them, later ones may not. Python's TF2 loader takes every
    function for one of its own version.
    ## Fix
    Export again with a release that writes what replaced the op. Where the graph was
    made by hand, its `versions.producer` claims more than it should.
    ## Example
        a = Placeholder() {dtype=float32, shape=(2, 2)}
        y = BatchSelfAdjointEig(a) {T=float32}
        producer 2474
        on tensorflow==2.8.4
    """

    producer: int
    found: int
    advice: str

    def cause(self) -> str:
        return f"removed in GraphDef version {self.producer}: {self.advice}"

    def says(self) -> str:
        return wording.deprecated(self.op or "", self.found, self.producer, self.advice)


@answers(Question.DEPRECATED, Question.OUTDATED)
def too_old(trouble: Trouble) -> Finding:
    graph = trouble.producer
    if trouble.reason.question is Question.OUTDATED and trouble.target.build is not None:
        graph = trouble.target.build.facts["graph_def"]["producer"]
    return OpTooOld(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        producer=trouble.reason.actual,
        found=graph,
        advice=trouble.reason.expected,
    )


@finding("TFP107", "function-named-as-op")
class FunctionNamedAsOp(Finding):
    """function `{called}` has the name of an op of {target}

    ## Cause
    The model defines a function whose name a later release gave to an op, or which was
    always one.
    ## Fix
    Rename the function and export again.
    """

    called: str

    def says(self) -> str:
        return f"Cannot add function '{self.called}' because an op with the same name already exists."


@answers(Question.FUNCTION_NAME)
def function_named_as_op(trouble: Trouble) -> Finding:
    return FunctionNamedAsOp(on=trouble.target, nodes=trouble.nodes, called=trouble.reason.actual)
