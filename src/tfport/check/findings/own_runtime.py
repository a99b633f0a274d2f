"""Does tfport's own runtime have a kernel for every node that runs? Findings 6xx."""

from __future__ import annotations

from typing import Self

from tfport.atlas.kernel_history import kernel_text, merged
from tfport.atlas.target import OURS
from tfport.check.checked_model import UnresolvedNodes
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.unresolved_nodes import history_of
from tfport.check.loader_stages import BY_NAME, KERNELS, STRUCTURE
from tfport.graph.inline import NO_SEGMENT
from tfport.graph.op_facts.kinds import TENSORRT_ENGINE
from tfport.registry.kernels import Kernel
from tfport.registry.unresolved import Question

MOST = 3


@finding("TFP601", "op-not-run", noticed={Question.OP: STRUCTURE})
class NoRuntimeKernel(Finding):
    """tfport has no kernel for op `{op}`

    ## Cause
    tfport runs models without TensorFlow, with its own kernels. It has kernels for
    inference; most ops that only train, communicate with other machines or control an
    accelerator have none. `tfport ops --tfport` lists all that it runs.
    ## Fix
    Request a signature that does not need the op, or run the model in TensorFlow: the report names
    the nearest release that supports it. Or provide a kernel: in a file that you pass with
    `--ops FILE.py`, `tfport.op` defines an unrecorded op and `tfport.kernel` implements it;
    `--library FILE.so` loads a library compiled with `tfport lib build`; and `tfport.stub` replaces
    the op in one session.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
        on tfport
    """

    provider: str
    """Where the op is recorded; empty for a custom op."""

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if unresolved.target.kind != OURS:
            return None
        history = history_of(unresolved.op)
        return cls(provider="TensorFlow" if history.releases else " or ".join(history.providers))

    def cause(self) -> str:
        if self.op == TENSORRT_ENGINE:
            return NO_SEGMENT
        if not self.provider:
            return "a custom op: no recorded release or add-on has it, and it is not registered here"
        return f"{self.provider} has it, but tfport's runtime does not"

    def fixes(self) -> list[str]:
        provide = "provide a kernel with `tfport.kernel`" if self.provider else "define it with `tfport.op`"
        return [
            f"{provide} in a Python file (`--ops FILE.py`), or replace it with `tfport.stub`",
            "compile its kernel with `tfport lib build`, and pass the library (`--library FILE.so`)",
        ]


@finding("TFP602", "type-not-run", noticed={Question.KERNEL_TYPE: KERNELS, Question.ONLY_XLA: BY_NAME})
class NoRuntimeKernelForType(Finding):
    """tfport has no kernel for op `{op}` with {types}

    ## Cause
    tfport has a kernel for the op, but for other types or other attribute values.
    ## Fix
    Cast to a type that has a kernel and back, or run the model in TensorFlow.
    ## Example
        x = Placeholder() {dtype=qint8, shape=(1, 1, 2, 2, 4)}
        y = DepthToSpace(x) {T=qint8, block_size=2, data_format="NCHW_VECT_C"}
        on tfport
    """

    types: str
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if unresolved.target.kind != OURS:
            return None
        return cls(types=unresolved.kernel_types() or "no label", kernels=unresolved.answer.kernels)

    def cause(self) -> str:
        shown = [kernel_text(kernel) for kernel in merged(self.kernels)]
        return f"its kernels support {' or '.join(shown[:MOST])}"


@finding("TFP603", "defined-without-kernel", noticed={Question.KERNEL: KERNELS})
class DefinedWithoutKernel(Finding):
    """op `{op}` is defined by {provider}, but has no kernel that tfport can run

    ## Cause
    `tfport.op`, a package or a library defined the op, but no CPU kernel is registered for
    it: `tfport.kernel` is missing, is in a module that is not imported, or names another
    device.
    ## Fix
    Declare a kernel with `@tfport.kernel("Op")`, or import the module that does before you create
    the session. `tfport ops --tfport` shows what is registered and where it comes from.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Acme>Fold(x) {T=float32}
        op Acme>Fold: (x: T) -> y: T; T: type
        on tfport
    """

    provider: str
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        target = unresolved.target
        if target.kind != OURS:
            return None
        source = target.registry.provider(unresolved.op)
        return cls(
            provider=source.name if source is not None else target.name, kernels=unresolved.answer.kernels
        )

    def cause(self) -> str:
        devices = " and ".join(sorted({kernel.device for kernel in self.kernels}))
        return f"its kernels are for {devices}" if devices else "no kernel is registered for it"

    def fixes(self) -> list[str]:
        return [f'declare one with `@tfport.kernel("{self.op}")`, or import the module that does']
