"""What the ops of a graph could do: when, with which file or address, and where it goes. Findings 90x.

`op_effects` says what an op does to the world outside of the graph. How bad that is depends on the
model: whether anything runs the node, who chooses the path, and whether the result leaves the
model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.known_ops import known_ops
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import finding, merged
from tfport.check.node_contexts import ALL, NodeContext
from tfport.frontends.lite.definitions import lite_definitions
from tfport.graph.graph import Node, Value
from tfport.graph.model import Model
from tfport.graph.op_effects import OpEffect, effects_of
from tfport.graph.reach import called_by, every_node, needed_by
from tfport.scan.data_flow import DataFlow, TextSources, literal_text
from tfport.scan.risk import ERROR, LOADING, NOTE, RISK, WARNING, Risk

NEVER = "but neither loading nor a signature runs it"
WHOLE = "when the graph runs"
"""Without signatures nothing says what is run: all of it may be, except what saves a checkpoint."""
NO_FILES = "tfport's own runtime reads only files of the model"
REFUSED = "tfport's own runtime has no kernel for it"
MOST_NAMES = 3
ONLY_COMPUTES = ("XlaCallModule", "DatasetFromGraph", "TfLiteSubgraphExecute", "MlirPassthroughOp")
"""Ops that hold a program of their own which cannot do more than compute."""


class GraphRisk(Risk):
    """Something that nodes do."""

    target_text: str = ""
    """The file or address, as the end of a sentence part: ` /etc/passwd`."""


@finding("TFP901", "reads-files", WARNING, noticed=RISK)
class ReadsFiles(GraphRisk):
    """op `{op}` reads {target_text} {moment}

    ## Cause
    The op opens a file whose name the graph contains, computes, or gets from its caller. If a
    signature returns the file it reads, the file leaves the machine with the answer; if the name
    comes from a request, the client chooses the file.
    ## Fix
    Do not load the model where such files exist, or run it with `tfport run` or `tfport serve`,
    which read only the model's own files. Or export it with the file as an asset.
    ## Example
        f = Const() {dtype=string, value=string()["/etc/passwd"]}
        y = ReadFile(f)
    """


@finding("TFP902", "writes-files", ERROR, noticed=RISK)
class WritesFiles(GraphRisk):
    """op `{op}` writes {target_text} {moment}

    ## Cause
    The op creates or overwrites files with the permissions of the process that runs the model. A
    model for inference has no reason to do so: only saving a checkpoint and writing summaries
    during training do.
    ## Fix
    Do not run the model. If the node is left over from training, export only what inference needs.
    ## Example
        f = Const() {dtype=string, value=string()["/tmp/x"]}
        y = WriteFile(f, f)
    """


@finding("TFP903", "deletes-files", ERROR, noticed=RISK)
class DeletesFiles(GraphRisk):
    """op `{op}` deletes {target_text} {moment}

    ## Cause
    The op removes files with the rights of the process that runs the model.
    ## Fix
    Do not run the model. If the node is left over from training, export only what inference needs.
    ## Example
        f = Const() {dtype=string, value=string(1,)["a"]}
        y = MergeV2Checkpoints(f, f) {delete_old_dirs=true}
    """


@finding("TFP904", "uses-network", ERROR, noticed=RISK)
class UsesNetwork(GraphRisk):
    """op `{op}` connects to {target_text} {moment}

    ## Cause
    The op opens connections to other machines.
    ## Fix
    Do not run the model, or run it where it cannot reach anything. Export only what inference
    needs.
    ## Example
        a = Const() {dtype=string, value=string()["10.0.0.1:5000"]}
        y = Rpc(a, a, a)
    """


@finding("TFP905", "calls-python", WARNING, noticed=RISK)
class CallsPython(GraphRisk):
    """op `{op}` calls the Python function {target_text} {moment}

    ## Cause
    The graph has a key, not the function: it calls whatever the process that loads the model
    registered under that key with `tf.py_function` or `tf.numpy_function`, or fails if it
    registered nothing.
    ## Fix
    Export the model with TensorFlow ops instead of the Python function.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = PyFunc(x) {token="pyfunc_0", Tin=[float32], Tout=[float32]}
    """


@finding("TFP906", "runs-other-code", ERROR, noticed=RISK)
class RunsOtherCode(GraphRisk):
    """op `{op}` runs {target_text} {moment}

    ## Cause
    The code is not part of TensorFlow: a compiled engine inside the model, a program, or a
    library.
    ## Fix
    Use it only if you trust whoever made it.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = XlaCustomCallV2(x) {call_target_name="f", result_dtypes=[float32]}
    """


@finding("TFP907", "custom-op", WARNING, noticed=RISK)
class CustomOp(GraphRisk):
    """no recorded package has op `{op}`, so its library could do anything {moment}

    ## Cause
    No release of TensorFlow and no recorded add-on registers the op. The model needs a library
    with its code, which runs with the rights of the process.
    ## Fix
    Load such a library only if you trust its source. `tfport lib FILE.so` shows what it needs and
    registers.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = AcmeZap(x)
    """


@finding("TFP908", "uses-resources", NOTE, noticed=RISK)
class UsesResources(GraphRisk):
    """{target_text} {moment}

    ## Cause
    The ops read the machine's clock, environment or random numbers, wait for others, or take as
    much memory or time as a value says.
    ## Fix
    Limit the process's memory and time; `tfport serve` does.
    ## Example
        y = Timestamp()
    """


@finding("TFP909", "harms-process", ERROR, noticed=RISK)
class HarmsProcess(GraphRisk):
    """op `{op}` {target_text} {moment}

    ## Cause
    The op ends the process that runs the model, or reads its memory at an address that a value
    gives.
    ## Fix
    Do not run the model.
    ## Example
        y = Abort()
    """


CLASSES: dict[str, type[GraphRisk]] = {
    "reads files": ReadsFiles,
    "lists files": ReadsFiles,
    "writes files": WritesFiles,
    "deletes files": DeletesFiles,
    "network": UsesNetwork,
    "other machines": UsesNetwork,
    "python": CallsPython,
    "loads code": RunsOtherCode,
    "runs programs": RunsOtherCode,
    "reads environment": UsesResources,
    "reads clock or host randomness": UsesResources,
    "unbounded memory": UsesResources,
    "unbounded time": UsesResources,
    "waits for others": UsesResources,
    "reads raw memory": HarmsProcess,
    "ends the process": HarmsProcess,
}
"""The finding for each effect of `op_effects.toml`."""
USES = {
    "reads environment": "reads the environment of the process",
    "reads clock or host randomness": "reads the clock or random numbers of the machine",
    "unbounded memory": "takes as much memory as an input says",
    "unbounded time": "takes as long as its data says",
    "waits for others": "waits for other threads or machines",
}
SOMETHING: dict[type[GraphRisk], str] = {
    ReadsFiles: "a file", WritesFiles: "a file", DeletesFiles: "files", UsesNetwork: "another machine",
    CallsPython: "of the process", RunsOtherCode: "code that the model holds",
}  # fmt: skip
"""What it does that to, if the graph does not say."""


def graph_risks(checked: CheckedModel) -> list[Risk]:
    """What the nodes of a model could do."""
    model = checked.model
    flow, known, functions = DataFlow(model, checked.contexts), known_ops(), model.graph.library.functions
    own = lite_definitions() if model.lite is not None else {}

    def is_known(op: str) -> bool:
        return op in known or op in functions or op in own

    saver = _saver(model)
    risks = [
        risk
        for node in every_node(model.graph)
        for risk in _risks(node, checked, flow, is_custom=not is_known(node.op))
        if not (risk.moment in (NEVER, WHOLE) and node in saver)
    ]
    return [*merged(r for r in risks if not isinstance(r, UsesResources)), *_resources(risks)]


def _resources(risks: Sequence[Risk]) -> Iterator[Risk]:
    """One note for each way to use the machine, with the ops that do."""
    groups: dict[tuple[str, str], list[Node]] = {}
    for risk in risks:
        if isinstance(risk, UsesResources) and risk.moment != NEVER:
            groups.setdefault((risk.target_text, risk.moment), []).extend(risk.nodes)
    for (does, when), nodes in groups.items():
        ops = list(dict.fromkeys(node.op for node in nodes))
        more = ", …" if len(ops) > MOST_NAMES else ""
        yield UsesResources(
            nodes=nodes, target_text=f"{does} ({', '.join(ops[:MOST_NAMES])}{more})", moment=when
        )


def _saver(model: Model) -> set[Node]:
    """The nodes that write checkpoints, which only a program that trains the model runs."""
    nodes = needed_by(model.save_nodes)
    return set(nodes).union(*called_by(nodes).values())


def _risks(node: Node, checked: CheckedModel, flow: DataFlow, *, is_custom: bool) -> Iterator[Risk]:
    effect = effects_of(node.op)
    if effect is None and not (is_custom and not node.op.startswith("_")):
        return
    context = checked.contexts.of(node)
    when = _when(context)
    if effect is None:
        level = NOTE if when == NEVER else ""
        yield CustomOp(nodes=[node], op=node.op, moment=when, level=level)
        return
    for does in effect.does:
        risk = _risk(node, does, effect, flow)
        if risk is not None:
            risk.moment = when
            if when == NEVER:
                risk.level, risk.why = NOTE, ""
            yield risk


def _when(context: NodeContext) -> str:
    names = sorted(name for name in context.signatures if name != ALL)
    if context.loading:
        return LOADING
    if context.signatures and not names:
        return WHOLE
    if not names:
        return NEVER
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMES])
    return f"when signature {shown}{more} runs"


def _argument(node: Node, name: str) -> Value | str | None:
    """The input or attribute of a node by its name in the definition of the op."""
    signature = node.signature
    attrs = node.attrs if signature is None else signature.with_defaults(node.attrs)
    if name in attrs:
        value = attrs[name]
        texts = value if isinstance(value, list) else [value]
        return ", ".join(t.decode(errors="replace") if isinstance(t, bytes) else str(t) for t in texts)
    names = [arg.name for arg in signature.inputs] if signature is not None else []
    index = names.index(name) if name in names else -1
    return node.inputs[index] if 0 <= index < len(node.inputs) else None


def _risk(node: Node, does: str, effect: OpEffect, flow: DataFlow) -> GraphRisk | None:
    """What one effect of a node is in this model; None if it is none, or only touches files of the model."""
    risk_class = CLASSES[does]
    if risk_class is UsesResources:
        is_used = _uses(node, does, effect, flow)
        return UsesResources(nodes=[node], op=node.op, target_text=USES[does]) if is_used else None
    if risk_class is ReadsFiles and effect.through and not effect.path:
        return None  # the op that made the handle is reported
    if risk_class is HarmsProcess:
        return HarmsProcess(nodes=[node], op=node.op, target_text=does, own_runtime=REFUSED)
    names = effect.path or effect.code
    argument = next((a for name in names if (a := _argument(node, name)) is not None), None)
    sources = flow.sources(argument) if isinstance(argument, Value) else TextSources()
    named = literal_text(argument) if isinstance(argument, Value) else argument
    if (risk_class is ReadsFiles and sources.is_own) or (
        named is not None and effect.is_harmless_path(named)
    ):
        return None
    if risk_class is RunsOtherCode:
        named = None  # the code itself, which nobody wants to read
    level, why = _judged(risk_class, node, does, sources, flow)
    return risk_class(
        nodes=[node],
        op=node.op,
        target_text=_target_text(risk_class, sources, named),
        level=level,
        why=why,
        own_runtime=NO_FILES if risk_class is ReadsFiles else REFUSED,
    )


def _uses(node: Node, does: str, effect: OpEffect, flow: DataFlow) -> bool:
    """Whether a node really uses the machine: not with a seed, or with sizes that no caller chooses."""
    if does == "unbounded memory":
        sizes = (_argument(node, name) for name in effect.size)
        return any(isinstance(size, Value) and flow.sources(size).inputs for size in sizes)
    if effect.seeds and does == "reads clock or host randomness":
        return all(_argument(node, name) in (None, "0") for name in effect.seeds)
    return True


def _target_text(risk_class: type[GraphRisk], sources: TextSources, named: str | None) -> str:
    if named:
        return f"`{named[:200]}`"
    if sources.inputs:
        what = "the file" if risk_class is not UsesNetwork else "the address"
        return f"{what} that input `{sources.inputs[0]}` names"
    parts = [part for part in sources.constants if part.strip()]
    something = SOMETHING[risk_class]
    return f"{something} whose name contains `{parts[0][:100]}`" if parts else something


def _judged(
    risk_class: type[GraphRisk], node: Node, does: str, sources: TextSources, flow: DataFlow
) -> tuple[str, str]:
    """The severity, and the reason for it."""
    if node.op in ONLY_COMPUTES:
        return NOTE, "it is a program that only computes"
    if does == "other machines":
        return WARNING, "it does nothing unless the process is part of a cluster"
    is_read = risk_class is ReadsFiles
    if sources.inputs and risk_class in (ReadsFiles, WritesFiles, DeletesFiles, UsesNetwork):
        if is_read and not flow.is_returned(node):
            return WARNING, "whoever calls the model chooses the file"
        chosen = "where" if risk_class is UsesNetwork else "the file"
        return ERROR, f"whoever calls the model chooses {chosen}{', and its content is returned' * is_read}"
    if is_read:
        if flow.is_returned(node):
            return ERROR, "a signature returns what was read: it leaves the machine with the answer"
        return WARNING, "the file is not part of the model"
    return "", ""
