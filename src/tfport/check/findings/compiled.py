"""Does XLA compile the functions that it must compile? Finding 317."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import OURS, Target
from tfport.check.checked_model import CheckedModel
from tfport.check.compiled.jit_kernels import JIT_DEVICES, jit_kernels, newest_jit_kernels
from tfport.check.compiled.nodes import RESULT, CompiledCall
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import COMPILED
from tfport.check.loaders import KERAS, PYTHON, Loader
from tfport.graph.graph import ARG, Function, Node

BRANCH = "it fails only if the branch that contains the call is taken"


@finding("TFP317", "not-compiled-by-xla", noticed=COMPILED)
class NotCompiledByXla(Finding):
    """XLA must compile function `{compiled}`, but has no kernel for {what} in {target}

    ## Cause
    The function was made with `tf.function(jit_compile=True)`: its calls have the attribute
    `_XlaMustCompile`. TensorFlow compiles the whole function when it is first called, with all
    branches, loops and functions in it, and fails if XLA cannot compile one of its nodes, even if a
    kernel could run that node. XLA cannot compile strings, tables, images, and ops that it has no
    kernel for.
    ## Fix
    Export again with `jit_compile=False`, or with the node outside of the compiled function.
    `tfport fix --for TARGET` replaces the calls with the function bodies, which are then not
    compiled.
    ## Example
        tfport check tests/truth/models/compiled_unary_spence --on tensorflow==2.21.0 --loader capi
    """

    compiled: str
    what: str
    device: str

    def says(self) -> str:
        kernel = f"No registered '{self.op}' OpKernel for {self.device} devices compatible with node"
        return (
            f"Detected unsupported operations when trying to compile graph {self.compiled}[] on "
            f"{self.device}: {self.op} ({kernel} {{{{node {self.node}}}}}"
        )

    def fixes(self) -> list[str]:
        return ["export again with jit_compile=False, or with this node outside of the compiled function"]


@check
def xla_compiles_the_functions(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    for call in model.compiled_functions.calls if target.kind != OURS else ():
        function = model.compiled_functions.function_of(call)
        if function is None:
            continue
        kind = model.kind_of_call(call, target)
        context, nodes = model.contexts.of(call), _uncompiled(model, call, function, kind, target, loader)
        skipped = BRANCH if model.contexts.may_be_skipped(call, lowering=False) else ""
        for (op, types, doubt), group in nodes.items():
            yield NotCompiledByXla(
                nodes=group,
                op=op,
                what=_what(op, types),
                compiled=function.name,
                device=JIT_DEVICES[kind],
                doubt=skipped or doubt,
                contexts=[(context, group)],
            )


def _uncompiled(
    model: CheckedModel, call: Node, function: Function, kind: str, target: Target, loader: Loader
) -> dict[tuple[str, str, str], list[Node]]:
    """The nodes that XLA does not compile for a call: by op, types and doubt."""
    compiled = CompiledCall(
        call, function, model.contexts.callers, in_session=loader.name not in (PYTHON, KERAS)
    )
    recorded = jit_kernels(target, kind)
    unsure = "" if recorded is not None else f"what XLA compiles in {target.name} was not recorded"
    kernels = newest_jit_kernels(kind) if recorded is None else recorded
    groups: dict[tuple[str, str, str], list[Node]] = {}
    for refused in compiled.uncompiled(kernels, target):
        groups.setdefault((refused.op, refused.types, refused.doubt or unsure), []).append(refused.node)
    return groups


def _what(op: str, types: str) -> str:
    if op in (ARG, RESULT):
        return f"{'arguments' if op == ARG else 'results'} with {types}"
    return f"op `{op}`" + (f" with {types}" if types else "")
