"""Does tfport's own runtime have a kernel for every node that runs? Findings 6xx."""

from __future__ import annotations

from tfport.atlas.kernel_text import kernel_text, merged
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.trouble import Trouble
from tfport.registry.kernels import Kernel

MOST = 3


@finding("TFP601", "op-not-run")
class OpNotRun(Finding):
    """tfport has no kernel for op `{op}`

    ## Cause
    tfport runs models without TensorFlow, with kernels of its own. It has them for what
    inference needs; ops that only train, talk to other machines or drive an accelerator
    are mostly left out. `tfport ops --tfport` lists all that it runs.
    ## Fix
    Ask for a signature that does not need the op, or run the model in a TensorFlow: the
    report names the nearest release that does. Or bring a kernel: `tfport.op` defines an op
    that nobody has recorded, `tfport.kernel` says what it computes, and `tfport.stub` puts
    something else in its place for one session.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
        on tfport
    """

    provider: str
    """Who has it; empty where nobody is recorded to."""

    def cause(self) -> str:
        if not self.provider:
            return "a custom op: in no recorded release or add-on, and nobody has registered it here"
        return f"{self.provider} has it, tfport's runtime has not"

    def fixes(self) -> list[str]:
        bring = "bring a kernel with `tfport.kernel`" if self.provider else "define it with `tfport.op`"
        return [f"{bring}, or put something in its place with `tfport.stub`"]


@finding("TFP602", "type-not-run")
class TypeNotRun(Finding):
    """tfport has no kernel for op `{op}` with {types}

    ## Cause
    There is a kernel of the op, but for other types or other values of its attributes.
    ## Fix
    Cast to a type that has a kernel and back, or run the model in a TensorFlow.
    ## Example
        x = Placeholder() {dtype=qint8, shape=(1, 1, 2, 2, 4)}
        y = DepthToSpace(x) {T=qint8, block_size=2, data_format="NCHW_VECT_C"}
        on tfport
    """

    types: str
    kernels: tuple[Kernel, ...]

    def cause(self) -> str:
        shown = [kernel_text(kernel) for kernel in merged(self.kernels)]
        return f"its kernels are for {' or '.join(shown[:MOST])}"


@finding("TFP603", "defined-without-kernel")
class OpWithoutKernel(Finding):
    """op `{op}` is defined by {provider}, and has no kernel that tfport can run

    ## Cause
    `tfport.op` defined the op, or a package or a library did, but nobody registered a kernel
    of it for the CPU: `tfport.kernel` was forgotten, is in a module that is not imported, or
    names another device.
    ## Fix
    Declare a kernel with `@tfport.kernel("Op")`, or import the module that does before the
    session is made. `tfport ops --tfport` shows what is registered and where it comes from.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Acme>Fold(x) {T=float32}
        op Acme>Fold: (x: T) -> y: T; T: type
        on tfport
    """

    provider: str
    kernels: tuple[Kernel, ...]

    def cause(self) -> str:
        devices = " and ".join(sorted({kernel.device for kernel in self.kernels}))
        return f"its kernels are for {devices}" if devices else "no kernel is registered for it"

    def fixes(self) -> list[str]:
        return [f'declare one with `@tfport.kernel("{self.op}")`, or import the module that does']


def op_not_run(trouble: Trouble, provider: str) -> Finding:
    return OpNotRun(on=trouble.target, nodes=trouble.nodes, op=trouble.op, provider=provider)


def no_kernel_here(trouble: Trouble) -> Finding:
    source = trouble.target.registry.provider(trouble.op)
    return OpWithoutKernel(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        provider=source.name if source is not None else trouble.target.name,
        kernels=trouble.reason.kernels,
    )


def type_not_run(trouble: Trouble, types: str) -> Finding:
    return TypeNotRun(
        on=trouble.target, nodes=trouble.nodes, op=trouble.op, types=types, kernels=trouble.reason.kernels
    )
