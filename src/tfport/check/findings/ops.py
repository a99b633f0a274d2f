"""Is every op registered in the target? Findings 101 to 104."""

from __future__ import annotations

from typing import Self

from tfport.atlas.atlas import Atlas, atlas
from tfport.atlas.choose_builds import choose_addon
from tfport.atlas.known_ops import ops_of_other_runtimes
from tfport.atlas.op_search import OpSummary, earlier_ops
from tfport.atlas.package_requirement import PackageRequirement
from tfport.atlas.release_spans import spans_text
from tfport.atlas.target import OURS, Target
from tfport.check.checked_model import UnresolvedNodes
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.unresolved_nodes import close_names, history_of, own_libraries
from tfport.check.loader_stages import DEPRECATION, OUTDATED_OPS, STRUCTURE
from tfport.errors import Error
from tfport.registry.unresolved import Question

REDUCED = "reduced"


@finding("TFP101", "unregistered-op", noticed={Question.OP: STRUCTURE})
class UnregisteredOp(Finding):
    """op `{op}` is not registered in {target}

    ## Cause
    The op was added after the target's release or removed before it, or a reduced build
    excludes it. `tfport ops NAME` shows its history.
    ## Fix
    Use a release that registers it, or a model without it: exporting from an older
    TensorFlow often avoids it. For a reduced build, add the op to `ops_to_register.h`;
    `tfport targets header MODEL --for TARGET` writes one.
    ## Example
        a = Placeholder() {dtype=float32, shape=(2, 2)}
        y = BatchMatMulV2(a, a) {T=float32}
        on tensorflow==1.13.2
    """

    released: str
    """The releases of TensorFlow that register it."""
    reduced: bool = False
    instead: str = ""
    """The earlier version of the op that the target has."""

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        op, target = unresolved.op, unresolved.target
        if _is_excluded(target, op):
            return cls(released="", reduced=True)
        history = history_of(op)
        if target.kind == OURS or not history.releases or own_libraries(target, op):
            return None
        earlier = next((name for name in earlier_ops(op) if name in target.registry), "")
        return cls(released=spans_text(history.releases), instead=earlier)

    def cause(self) -> str:
        if self.reduced:
            return f"the reduced build excludes it; {self.on.build and self.on.build.name} registers it"
        only = f"; only {self.instead} in {self.target}" if self.instead else ""
        return f"registered {self.released}{only}"

    def says(self) -> str:
        return tensorflow_messages.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        return [f"add {self.op} to the header of the reduced build"] if self.reduced else []


@finding("TFP102", "unknown-op", noticed={Question.OP: STRUCTURE})
class UnknownOp(Finding):
    """op `{op}` is in no recorded release of TensorFlow and in no recorded add-on

    ## Cause
    It is a custom op from a library that is neither recorded nor named here; without that library,
    TensorFlow reports that the op is not registered. Or only TensorFlow.js or TensorFlow Lite
    has the op.
    ## Fix
    Name its library with `--library FILE`, or record the build that has it with
    `tfport targets record` and use that file as the target. If the graph was written by
    hand, check the spelling. `tfport fix` rewrites TensorFlow.js ops. Convert a graph with a
    TensorFlow Lite op to TensorFlow Lite, or run it with `tfport run`.
    ## Example
        y = Acme>Tokenize()
        on tensorflow==2.8.4
    """

    close: tuple[str, ...] = ()

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        op, target = unresolved.op, unresolved.target
        history = history_of(op)
        if target.kind == OURS or history.releases or history.providers:
            return None
        if _is_excluded(target, op) or own_libraries(target, op):
            return None
        return cls(close=close_names(op), doubt=_partial_library(target))

    def cause(self) -> str:
        if other := ops_of_other_runtimes().get(self.op or ""):
            return f"a {other.summary} op, {other.description}"
        return f"close to {' and '.join(self.close)}" if self.close else "a custom op"

    def says(self) -> str:
        return tensorflow_messages.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        return [] if self.op in ops_of_other_runtimes() else ["name its library with --library FILE"]


@finding("TFP103", "library-not-loaded", noticed={Question.OP: STRUCTURE})
class LibraryNotLoaded(Finding):
    """op `{op}` is registered by {providers}, which {target} does not load

    ## Cause
    TensorFlow itself does not register the op: an add-on package does, or a library of
    `tf.contrib`, once it is imported. TensorFlow's message is the same as for an unknown
    op.
    ## Fix
    Install a version of the add-on that supports the release, and import it before loading
    the model; for contrib, import the module. A server that cannot import needs a build
    with the library linked in.
    ## Example
        t = Placeholder() {dtype=string, shape=(1,)}
        y = CaseFoldUTF8(t)
        on tensorflow==2.8.4
    """

    packages: tuple[str, ...] = ()
    """Requirements that provide it for this target."""
    libraries: tuple[str, ...] = ()
    """Libraries of the target's own wheel that register it."""
    known: tuple[str, ...] = ()
    """All recorded packages that register it."""

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        op, target = unresolved.op, unresolved.target
        if target.kind == OURS or _is_excluded(target, op):
            return None
        history, libraries = history_of(op), own_libraries(target, op)
        if not libraries and (history.releases or not history.providers):
            return None
        packages = _packages(history, target, atlas())
        return cls(libraries=libraries, packages=packages, known=tuple(history.providers))

    @property
    def providers(self) -> str:
        return " or ".join(self.libraries or self.known)

    def cause(self) -> str:
        return f"{self.target} registers it only after that is imported"

    def says(self) -> str:
        return tensorflow_messages.not_registered(self.op or "", self.on)

    def fixes(self) -> list[str]:
        modules = [library.rpartition("/python/")[0].replace("/", ".") for library in self.libraries]
        imports = [f"import tf.{module} before the model is loaded" for module in modules if module]
        return imports + [f"pip install '{package}' and import it first" for package in self.packages]


def _partial_library(target: Target) -> str:
    """Why an op may still be registered: a library could not be read completely."""
    partial = (source for source in target.registry.sources if getattr(source, "partial", False))
    return next(
        (f"{source.name} may register it: not all of its code could be read" for source in partial), ""
    )


def _is_excluded(target: Target, op: str) -> bool:
    """Whether a reduced build leaves out an op of its base release."""
    return target.kind == REDUCED and any(source.definition(op) for source in target.registry.sources)


def _packages(history: OpSummary, target: Target, known: Atlas) -> tuple[str, ...]:
    """The add-ons with the op, each in the version that supports the target's release."""
    requirements = []
    for package in history.providers:
        try:
            choice = target.build and choose_addon(PackageRequirement(package), target.build, known)
        except Error:
            continue
        if choice and known.source(choice.build).definition(history.name) is not None:
            requirements.append(choice.requirement)
    return tuple(requirements)


@finding("TFP104", "op-too-old", noticed={Question.DEPRECATED: DEPRECATION, Question.OUTDATED: OUTDATED_OPS})
class OpTooOld(Finding):
    """op `{op}` is not allowed in graphs of version {removed} or later; {target} treats this one as {version}

    ## Cause
    Ops are removed by GraphDef version: graphs written before that version may still have them, but
    later graphs may not. Python's TF2 loader treats every function as if it had the release's own
    version.
    ## Fix
    Export again with a release that writes the replacement. If the graph was written by hand, its
    `versions.producer` is too high.
    ## Example
        a = Placeholder() {dtype=float32, shape=(2, 2)}
        y = BatchSelfAdjointEig(a) {T=float32}
        producer 2474
        on tensorflow==2.8.4
    """

    removed: int
    version: int
    advice: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        version, build = unresolved.producer, unresolved.target.build
        if unresolved.answer.question is Question.OUTDATED and build is not None:
            version = build.facts["graph_def"]["producer"]
        return cls(removed=unresolved.answer.actual, version=version, advice=unresolved.answer.expected)

    def cause(self) -> str:
        return f"removed in GraphDef version {self.removed}: {self.advice}"

    def says(self) -> str:
        return tensorflow_messages.deprecated(self.op or "", self.version, self.removed, self.advice)
