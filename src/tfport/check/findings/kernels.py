"""Would a kernel of the target run every node? Findings 3xx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.atlas.atlas import atlas
from tfport.atlas.kernel_text import kernel_text, merged
from tfport.atlas.op_definitions import value_text
from tfport.atlas.release_spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import OURS, Target
from tfport.check.devices import kinds_of_devices
from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.own_runtime import no_kernel_here, type_not_run
from tfport.check.findings.trouble import Trouble, answers
from tfport.graph.attrs import Attr
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import unresolved_kernel
from tfport.registry.unresolved import Question

MOST = 4


@finding("TFP301", "no-kernel-for-device")
class NoKernelForDevice(Finding):
    """op `{op}` has no kernel for {devices} in {target}

    ## Cause
    The op is known, but nothing in the build can run it on the devices that are there:
    its kernels are for GPUs only, or were taken out, or belong to a library that was
    not loaded. Custom ops come to this when `REGISTER_OP` was compiled and
    `REGISTER_KERNEL_BUILDER` was not.
    ## Fix
    Run on a device that has a kernel, or use a release that has one for this device.
    CudnnRNN ops are made by layers that were built for GPUs only: build the model again
    with the portable layer and load the same weights.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 1, 4)}
        p = Placeholder() {dtype=float32, shape=(?,)}
        y = CudnnRNNV2(x, x, x, p) {T=float32}
        on tensorflow==2.8.4
    """

    devices: str
    kernels: tuple[Kernel, ...]
    released: str
    """The releases of TensorFlow in which a kernel would run it on such a device."""
    attrs: Mapping[str, Attr]

    def cause(self) -> str:
        there = _others(self.kernels)
        elsewhere = f"; one for {self.devices} is in TensorFlow {self.released}" if self.released else ""
        return (f"its kernels are for {there}" if there else "no kernel is registered for it") + elsewhere

    def says(self) -> str:
        return wording.no_kernel(self.nodes[0], self.attrs, self.kernels, self.on)

    def fixes(self) -> list[str]:
        return _on_gpu(self.on, self.attrs, self.kernels)


@finding("TFP302", "no-kernel-for-type")
class NoKernelForType(Finding):
    """op `{op}` has no {devices} kernel for {types} in {target}

    ## Cause
    There are kernels of the op for this device, but none for these types (or with the
    label that the node asks for).
    ## Fix
    Cast to a type that has a kernel and back, use another device, or a release that has
    the kernel.
    ## Example
        x = Placeholder() {dtype=int8, shape=(2, 2)}
        y = MatMul(x, x) {T=int8, transpose_a=false, transpose_b=false}
        on tensorflow==2.3.4
    """

    devices: str
    types: str
    kernels: tuple[Kernel, ...]
    released: str
    attrs: Mapping[str, Attr]

    def cause(self) -> str:
        own = [kernel for kernel in self.kernels if kernel.device in kinds_of_devices(self.on)]
        shown = [kernel_text(kernel) for kernel in merged(own)]
        more = f" and {len(shown) - MOST} more" if len(shown) > MOST else ""
        elsewhere = f"; there is one in TensorFlow {self.released}" if self.released else ""
        return f"its kernels are for {' or '.join(shown[:MOST])}{more}{elsewhere}"

    def says(self) -> str:
        return wording.no_kernel(self.nodes[0], self.attrs, self.kernels, self.on)

    def fixes(self) -> list[str]:
        return _on_gpu(self.on, self.attrs, self.kernels)


@answers(Question.KERNEL)
def no_kernel_for_device(trouble: Trouble) -> Finding:
    if trouble.target.kind == OURS:
        return no_kernel_here(trouble)
    attrs = trouble.with_defaults()
    return NoKernelForDevice(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        devices=trouble.target.device.upper(),
        kernels=trouble.reason.kernels,
        released=_running(trouble, attrs),
        attrs=attrs,
    )


@answers(Question.KERNEL_TYPE, Question.ONLY_XLA)
def no_kernel_for_type(trouble: Trouble) -> Finding:
    attrs = trouble.with_defaults()
    names = dict.fromkeys(name for kernel in trouble.reason.kernels for name in kernel.constraints)
    types = [f"{name}={_value(attrs[name])}" for name in names if name in attrs]
    label = [f"label {attrs['_kernel']}"] if "_kernel" in attrs else []
    if trouble.target.kind == OURS:
        return type_not_run(trouble, ", ".join(types + label) or "no label")
    return NoKernelForType(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        devices=trouble.target.device.upper(),
        types=", ".join(types + label),
        kernels=trouble.reason.kernels,
        released=_running(trouble, attrs),
        attrs=attrs,
    )


def _value(value: Attr) -> str:
    return ", ".join(map(value_text, value)) if isinstance(value, list) else value_text(value)


def _others(kernels: Sequence[Kernel]) -> str:
    """The devices that people have for which there are kernels."""
    return " and ".join(sorted({kernel.device for kernel in kernels if "JIT" not in kernel.device}))


def _running(trouble: Trouble, attrs: Mapping[str, Attr]) -> str:
    """The releases of TensorFlow with a kernel for these attributes on the target's devices."""
    devices = kinds_of_devices(trouble.target)
    having = {
        build.number
        for chapter in atlas().kernel_sets(trouble.op)
        if not chapter.provider and not unresolved_kernel(attrs, chapter.kernels, devices)
        for build in chapter.builds
    }
    return spans_text(spans(on_x86(atlas(), STOCK), having))


def _on_gpu(target: Target, attrs: Mapping[str, Attr], kernels: Sequence[Kernel]) -> list[str]:
    if target.device == "cpu" and not unresolved_kernel(attrs, kernels, ["GPU"]):
        return ["run it on a machine with a GPU (`--device gpu`): there is a kernel for it"]
    return []


@finding("TFP303", "device-not-there")
class DeviceNotThere(Finding):
    """node `{node}` is to run on {device}, and {target} has no such device

    ## Cause
    The graph was exported with devices written into it, and the loader takes them at
    their word: TensorFlow Serving and the C API do not place softly. Python's TF2 loader
    does.
    ## Fix
    Export with `clear_devices=True` (TF1), or outside of `tf.device`; or set
    `allow_soft_placement` where the loader lets you.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Neg(x) {T=float32} @"/device:GPU:0"
        on tensorflow==2.8.4
        loader serving
    """

    device: str

    def cause(self) -> str:
        return f"the node says {self.device}; a session without soft placement takes it at its word"

    def says(self) -> str:
        return wording.no_device(self.nodes[0], self.on)

    def fixes(self) -> list[str]:
        return ["export again with clear_devices=True", "--soft-placement, if the loader is told to"]


@finding("TFP304", "no-device-name")
class NoDeviceName(Finding):
    """node `{node}` is to run on `{device}`, which is no name of a device

    ## Cause
    A device is written `/job:…/replica:…/task:…/device:KIND:NUMBER`, or some parts of that.
    ## Fix
    Export again with `clear_devices=True`, or outside of `tf.device`.
    ## Example
        y = NoOp() @"somewhere"
        on tensorflow==2.8.4
    """

    device: str

    def says(self) -> str:
        return f"Malformed device specification '{self.device}'"


@answers(Question.DEVICE_NAME)
def no_device_name(trouble: Trouble) -> Finding:
    return NoDeviceName(on=trouble.target, nodes=trouble.nodes, op=trouble.op, device=trouble.reason.actual)


@answers(Question.DEVICE, Question.JOB)
def device_not_there(trouble: Trouble) -> Finding:
    return DeviceNotThere(on=trouble.target, nodes=trouble.nodes, op=trouble.op, device=trouble.reason.actual)
