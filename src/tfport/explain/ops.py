"""Look up which releases and packages register an op, compile it with XLA, or have a GraphDef version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfport.atlas.atlas import atlas
from tfport.atlas.choose_builds import PYTHON_OPS, choose_addon
from tfport.atlas.history import ProviderHistory, op_history
from tfport.atlas.lite.releases import first_release_with_custom
from tfport.atlas.op_search import OpSummary, earlier_ops, suggestions, summaries
from tfport.atlas.package_requirement import PackageRequirement
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.atlas.target import Target
from tfport.check.compiled.jit_kernels import releases_compiling
from tfport.check.compiled.nodes import RESULT
from tfport.errors import Error
from tfport.explain.lookup import Meaning, MessageMatch, recorded
from tfport.graph.graph import ARG

CAMEL_CASE = re.compile(r"(\w+>)?_?[A-Z][A-Za-z0-9]*(_?[A-Z0-9][A-Za-z0-9]*)*")
ORDINARY_WORD = re.compile(r"[A-Z][a-z]*")
ABOUT_GRAPHS = re.compile(
    r"importer\.py|op_def|op_dict|graph_def|GraphDef|NodeDef|saved_model|meta_graph|registered op"
)
NEAR = 2000
"""How many characters around a KeyError are searched for words about graphs."""
FUNCTIONS = ("__inference_", "__forward_", "__backward_")


FULL_BUILD = re.compile(r"tensorflow_model_server|tensorflow_serving|tensorflow/serving")
"""What shows a server, which has all ops of its release."""
CONTRIB_NOTE = "used ops from tf.contrib"
"""What TensorFlow 1 adds to its message."""
OF_TRAINING = re.compile(r"(?:.*Queue\w*|Reader\w*|\w+ReaderV2|RandomUniform|RandomShuffle)")
"""Ops of input pipelines and of dropout, which a model for inference does not need."""


def unregistered_op(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases or add-ons register the op, and how to get it."""
    op = match.names["op"]
    if op.startswith(FUNCTIONS):
        return Meaning(
            ["It is a function of the model, not an op: the graph was extracted from the model without it."],
            ["export the model again with its functions"],
            code="TFP105",
        )
    (history,) = summaries(atlas(), [op])
    if history.releases:
        meaning = _released(op, history, match)
    elif history.providers:
        meaning = _provided(op)
    elif first := first_release_with_custom(op):
        meaning = _of_lite(op, first)
    else:
        meaning = _unknown(op)
    if target is not None:
        meaning.on_target = [_on_target(op, target), *_addons(op, history, target)]
    return meaning


def op_as_key(match: MessageMatch, target: Target | None) -> Meaning | None:
    """The same for a KeyError; None if it names no op, or only a word in a text that is not about graphs."""
    op = match.names["op"]
    if ORDINARY_WORD.fullmatch(op) and not ABOUT_GRAPHS.search(match.before[-NEAR:] + match.text[:NEAR]):
        return None
    (history,) = summaries(atlas(), [op])
    return unregistered_op(match, target) if history.releases or history.providers else None


def _released(op: str, history: OpSummary, match: MessageMatch) -> Meaning:
    first, last = history.releases[0], history.releases[-1]
    released = f"TensorFlow registers it {recorded(history.releases)}"
    if op in PYTHON_OPS:
        why = "it runs Python code in the program that made the model, which no other program has"
        return Meaning([f"{released}: {why}."], ["export the model without Python functions in its graph"])
    if not last.open:
        return Meaning(
            [f"{released}: later releases removed it."],
            [
                f"use TensorFlow {last.last} or an earlier release that has it",
                "export the model again with a later release, which writes another op",
            ],
        )
    if first.first == on_x86(atlas(), STOCK)[0].version and FULL_BUILD.search(match.before + match.text):
        return Meaning(
            [f"{released}, so the binary is older than these, or was built without some ops."],
            ["use a binary of the release that wrote the model, or later", *_training(op)],
        )
    if first.first == on_x86(atlas(), STOCK)[0].version:
        return Meaning(
            [f"{released}, so the binary is a reduced or mobile build, or older than these."],
            [_add_to_header(op)],
        )
    return Meaning(
        [f"{released}: the binary is older, or lacks some ops ({_builds_without_all(match)})."],
        [
            f"use TensorFlow {last.first} or later",
            *_export_without(op, f"an older TensorFlow than {first.first}"),
            _add_to_header(op),
        ],
    )


def _builds_without_all(match: MessageMatch) -> str:
    contrib = ", a C library without those of tf.contrib" if CONTRIB_NOTE in match.text else ""
    return f"a reduced build{contrib}"


def _add_to_header(op: str) -> str:
    return f"for a reduced build, add {op} to ops_to_register.h (`tfport targets header MODEL --for TARGET`)"


def _export_without(op: str, writer: str) -> list[str]:
    earlier = next((s.name for s in summaries(atlas(), earlier_ops(op)) if s.releases), None)
    if earlier is None:
        return ["export the model again with the release that must read it"]
    return [f"export with {writer}: its op is {earlier}"]


def _provided(op: str) -> Meaning:
    history = op_history(atlas(), op)
    provisions = [p for p in history.provisions if p.releases] if history else []
    providers = " and ".join(map(_provider, provisions))
    return Meaning(
        [f"TensorFlow itself does not register it; {providers} does, once imported."],
        list(dict.fromkeys(map(_how_to_add, provisions))),
        code="TFP103",
    )


def _provider(provision: ProviderHistory) -> str:
    by = f"{provision.library} of {provision.package}" if provision.library else provision.package
    return f"{by} ({recorded(provision.releases)})"


def _how_to_add(provision: ProviderHistory) -> str:
    if provision.library:
        module = provision.library.rpartition("/python/")[0].replace("/", ".") or "contrib"
        return f"import tf.{module} before the model is loaded (TensorFlow {provision.releases[-1].last})"
    return (
        f"pip install the {provision.package} version that matches TensorFlow, and import it first; a server "
        "needs a build with the op, or the model without it"
    )


def _of_lite(op: str, first: Sequence[str]) -> Meaning:
    return Meaning(
        [
            f"It is an op of TensorFlow Lite only (recorded since {', '.join(first)}): TensorFlow has no "
            "kernel for it, and there is no library to load. The graph was made for the converter of "
            "TensorFlow Lite."
        ],
        [
            "convert the graph to a .tflite file with `allow_custom_ops = True`, and run that with the "
            "interpreter of TensorFlow Lite",
            "to run it in TensorFlow, export the model without the op (in the Object Detection API, with "
            "export_inference_graph.py instead of export_tflite_ssd_graph.py)",
        ],
        code="TFP102",
    )


def _unknown(op: str) -> Meaning:
    near = suggestions(atlas(), op)
    close = f" Similar names: {', '.join(near)}." if near else ""
    if not CAMEL_CASE.fullmatch(op):
        return Meaning(
            ["No recorded TensorFlow release or add-on registers it; ops have names in CamelCase. It is a "
             "function (`Defun`, `tf.function`) that was lost from the model, or a custom op."],
            [
                "export the model again with its functions, as a SavedModel, or inline them before freezing",
                "for a custom op, load its library before the model: `tf.load_op_library(PATH)`",
            ],
            code="TFP102",
        )  # fmt: skip
    return Meaning(
        [f"No recorded TensorFlow release or add-on registers it: it is a custom op.{close}"],
        [
            "load its library before the model: `tf.load_op_library(PATH)`; in C, `TF_LoadLibrary`, in Java, "
            "`TensorFlow.loadLibrary`",
            "TensorFlow Serving cannot load libraries: link the op into the server",
            "if only training needs it, export the model for inference",
        ],
        code="TFP102",
    )


def _addons(op: str, history: OpSummary, target: Target) -> list[str]:
    """The add-ons that register the op, each in the version that matches the target."""
    addons, build = [], target.build
    if build is None or op in target.registry:
        return []
    for package in history.providers:
        try:
            choice = choose_addon(PackageRequirement(package), build, atlas())
        except Error:
            continue
        if choice and atlas().source(choice.build).definition(op) is not None:
            addons.append(f"{choice.requirement} matches the target and registers {op}")
    return addons


def _on_target(op: str, target: Target) -> str:
    if op in target.registry:
        return f"{target.name} registers {op}: the message is from another binary, or from a reduced build"
    instead = next((name for name in earlier_ops(op) if name in target.registry), None)
    return f"{target.name} does not register {op}" + (f"; it has {instead}" if instead else "")


def registered_by(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases and packages register the op, for messages that are not about its absence."""
    if "op" not in match.names:
        return Meaning()
    (history,) = summaries(atlas(), [match.names["op"]])
    sources = [f"TensorFlow {recorded(history.releases)}"] if history.releases else []
    sources += history.providers
    if not sources and first_release_with_custom(match.names["op"]):
        return Meaning(["It is an op of TensorFlow Lite only: no TensorFlow release registers it."])
    if not sources:
        return Meaning(["No recorded TensorFlow release or add-on registers it: it is a custom op."])
    return Meaning([f"It is registered by {', '.join(sources)}."], _training(match.names["op"]))


def _training(op: str) -> list[str]:
    if not OF_TRAINING.fullmatch(op):
        return []
    return [f"export the model for inference: {op} is usually a part of training (input queues, dropout)"]


# Ops that XLA does not compile.

OTHER_TYPES = "attributes didn't match"
SWITCHES = ("Switch", "_SwitchN", "Merge")


def unsupported_op(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether XLA compiles the op in any release, and for which types."""
    return Meaning(list(_facts(match)))


def _facts(match: MessageMatch) -> Iterator[str]:
    op, device = match.names.get("op"), match.names.get("device", "")
    if op is None:
        return
    if op in (ARG, RESULT):
        what = "an argument" if op == ARG else "a result"
        yield f"It is {what} of the function, of a type that XLA does not have, such as string."
    elif op in SWITCHES:
        yield "A branch that was exported to be lowered becomes such nodes in a session (C API, Serving)."
    elif OTHER_TYPES in match.text:
        yield f"XLA compiles {op}, but not with the types that the message shows."
    elif (releases := releases_compiling(op, device)) is not None:
        if releases:
            yield f"Recorded releases in which XLA compiles {op}: {', '.join(releases)}."
        else:
            yield f"XLA compiles {op} in none of the recorded releases."


# GraphDef versions.


def op_too_old(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of both versions in the message, and TensorFlow's advice about the op."""
    advice = {
        chapter.definition.deprecation.explanation: None
        for chapter in atlas().definitions(match.names["op"])
        if chapter.definition is not None and chapter.definition.deprecation.explanation
    }
    versions = _version_facts(match.names["removed"], match.names["found"])
    return Meaning([*(f"TensorFlow's advice: {text}" for text in advice), *versions])


def graph_versions(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of the binary and of the writer of the model."""
    roles = {"binary": "The binary", "writer": "The writer of the model"}
    facts = [
        f"{role} is {_releases_of(int(match.names[name]))} (GraphDef version {match.names[name]})."
        for name, role in roles.items()
    ]
    return Meaning(facts)


def graph_needs_newer(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of all GraphDef versions in the message."""
    numbers = [match.names[name] for name in ("wanted", "have", "found") if name in match.names]
    return Meaning(_version_facts(*numbers), on_target=_version_on_target(target))


def _version_on_target(target: Target | None) -> list[str]:
    version = (target.build.facts.get("graph_def") or {}).get("producer") if target and target.build else None
    return [f"{target.name} has GraphDef version {version}"] if target and version else []


def _version_facts(*numbers: str) -> list[str]:
    return [f"GraphDef version {n} is {_releases_of(int(n))}." for n in dict.fromkeys(numbers)]


def _releases_of(version: int) -> str:
    """The TensorFlow releases of a GraphDef version, or the releases around it if none has it."""
    stock = on_x86(atlas(), STOCK)
    known = [(b.facts["graph_def"]["producer"], b) for b in stock if b.facts.get("graph_def")]
    exact = spans(stock, {build.number for number, build in known if number == version})
    if exact:
        return f"TensorFlow {', '.join(map(_closed, exact))}"
    before = max((n for n, _ in known if n < version), default=None)
    after = min((n for n, _ in known if n > version), default=None)
    if after is None:
        return f"newer than TensorFlow {stock[-1].version}, the newest recorded release"
    if before is None:
        return "older than every recorded release"
    ends = [next(build.version for n, build in known if n == end) for end in (before, after)]
    return f"a build between the releases {ends[0]} and {ends[1]}"


def _closed(span: Span) -> str:
    return span.first if span.first == span.last else f"{span.first} to {span.last}"
