"""Does the target have a kernel that supports every node? Findings 301, 302, 305 and 312."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tfport.atlas.atlas import atlas
from tfport.atlas.choose_builds import PYTHON_OPS
from tfport.atlas.kernel_history import kernel_text, merged
from tfport.atlas.release_spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import OURS, Target
from tfport.check.checked_model import UnresolvedNodes
from tfport.check.devices import kinds_of_devices
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.check.kernel_limits import NEVER, NHWC, KernelLimit
from tfport.check.loader_stages import BY_NAME, KERNEL_LIMITS, KERNELS
from tfport.graph.attrs import Attr
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import unresolved_kernel
from tfport.registry.unresolved import Question

MOST = 4
SHOWN = ("data_format", "dilations", "strides", "T")
"""The attributes that a message about a limit shows, if they apply."""


class KernelFinding(Finding):
    """The base class of the findings about missing kernels."""

    devices: str
    kernels: tuple[Kernel, ...]
    released: str
    """The releases of TensorFlow that have a kernel for these attributes on such a device."""
    attrs: Mapping[str, Attr]

    def says(self) -> str:
        return tensorflow_messages.no_kernel(self.nodes[0], self.attrs, self.kernels, self.on)

    def fixes(self) -> list[str]:
        if self.on.device == "cpu" and not unresolved_kernel(self.attrs, self.kernels, ["GPU"]):
            return ["run it on a machine with a GPU (`--device gpu`), which has a kernel for it"]
        return []


@finding("TFP301", "no-kernel-for-device", noticed={Question.KERNEL: KERNELS})
class NoKernelForDevice(KernelFinding):
    """op `{op}` has no kernel for {devices} in {target}

    ## Cause
    The op is registered, but the build has no kernel for the available devices: its
    kernels are for GPUs only, were removed, or belong to a library that was not loaded.
    Custom ops have this problem when `REGISTER_OP` was compiled and
    `REGISTER_KERNEL_BUILDER` was not.
    ## Fix
    Run on a device that has a kernel, or use a release that has one for this device.
    CudnnRNN ops come from layers built only for GPUs: build the model again with the portable layer
    and load the same weights.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 1, 4)}
        p = Placeholder() {dtype=float32, shape=(?,)}
        y = CudnnRNNV2(x, x, x, p) {T=float32}
        on tensorflow==2.8.4
    """

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if unresolved.target.kind == OURS:
            return None
        attrs = unresolved.with_defaults()
        return cls(
            devices=unresolved.target.device.upper(),
            kernels=unresolved.answer.kernels,
            released=_releases_with(unresolved.op, unresolved.target, attrs),
            attrs=attrs,
        )

    def cause(self) -> str:
        if self.op in PYTHON_OPS:
            return "it calls a Python function, which only the process that saved the model has"
        devices = " and ".join(sorted({k.device for k in self.kernels if "JIT" not in k.device}))
        elsewhere = f"; TensorFlow {self.released} has one for {self.devices}" if self.released else ""
        return (f"its kernels are for {devices}" if devices else "no kernel is registered for it") + elsewhere


@finding(
    "TFP302",
    "no-kernel-for-type",
    noticed={Question.KERNEL_TYPE: KERNELS, Question.ONLY_XLA: BY_NAME},
)
class NoKernelForType(KernelFinding):
    """op `{op}` has no {devices} kernel for {types} in {target}

    ## Cause
    The op has kernels for this device, but none for these types (or with the label that
    the node asks for).
    ## Fix
    Cast to a type that has a kernel and back, or use another device or a release that has the
    kernel.
    ## Example
        x = Placeholder() {dtype=int8, shape=(2, 2)}
        y = MatMul(x, x) {T=int8, transpose_a=false, transpose_b=false}
        on tensorflow==2.3.4
    """

    types: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if unresolved.target.kind == OURS:
            return None
        attrs = unresolved.with_defaults()
        return cls(
            devices=unresolved.target.device.upper(),
            types=unresolved.kernel_types(),
            kernels=unresolved.answer.kernels,
            released=_releases_with(unresolved.op, unresolved.target, attrs),
            attrs=attrs,
        )

    def cause(self) -> str:
        present = [kernel for kernel in self.kernels if kernel.device in kinds_of_devices(self.on)]
        shown = [kernel_text(kernel) for kernel in merged(present)]
        more = f" and {len(shown) - MOST} more" if len(shown) > MOST else ""
        elsewhere = f"; TensorFlow {self.released} has one" if self.released else ""
        return f"its kernels support {' or '.join(shown[:MOST])}{more}{elsewhere}"


def _releases_with(op: str, target: Target, attrs: Mapping[str, Attr]) -> str:
    """The releases of TensorFlow with a kernel for these attributes on the target's devices."""
    devices: Sequence[str] = kinds_of_devices(target)
    having = {
        build.number
        for chapter in atlas().kernel_sets(op)
        if not chapter.provider and not unresolved_kernel(attrs, chapter.kernels, devices)
        for build in chapter.builds
    }
    return spans_text(spans(on_x86(atlas(), STOCK), having))


@finding(
    "TFP305",
    "kernel-refuses",
    noticed={Question.KERNEL_LIMIT: KERNEL_LIMITS, Question.KERNEL_LIMIT_WITHOUT_ONEDNN: KERNEL_LIMITS},
)
class UnsupportedByKernel(Finding):
    """the {device} kernel of op `{op}` in {target} does not support {unsupported}

    ## Cause
    The kernel is registered, so the model loads; it fails when it runs with these
    attributes. Most often the graph was made for a GPU, with channels first. The kernel of
    XlaCallModule, which contains a JAX program, reads only some versions of such programs.
    ## Fix
    Export the model with channels last (`data_format="NHWC"`), or use a release whose kernel
    supports channels first: from 2.9 on, most do on the CPU. `tfport fix --for TARGET` writes other
    nodes that compute the same result, even for the program in an XlaCallModule.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 2, 4, 4)}
        f = Placeholder() {dtype=float32, shape=(1, 1, 2, 2)}
        y = Conv2D(x, f) {T=float32, data_format="NCHW", padding="SAME", strides=[1, 1, 1, 1]}
        on tensorflow==2.8.4
    """

    device: str
    unsupported: str
    limit: KernelLimit

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        limit: KernelLimit = unresolved.answer.expected
        attrs = unresolved.with_defaults()
        shown = (f"{n}={attrs[n]}" for n in SHOWN if n in attrs and attrs[n] not in (NHWC, "NDHWC"))
        unsupported = next(shown, "it")
        if about := limit.about:
            unsupported = f"{about}={attrs[about]}" if about in attrs else about
        return cls(device=limit.device, unsupported=unsupported, limit=limit)

    def cause(self) -> str:
        if self.limit.cause:
            return self.limit.cause
        if self.limit.until == NEVER:
            return "no recorded release, including the newest, supports it"
        by = ", with oneDNN" if self.limit.by_onednn else ""
        return f"recorded from real binaries; supported from {self.limit.until} on{by}"

    def says(self) -> str:
        return self.limit.says


@finding(
    "TFP312",
    "kernel-answers-otherwise",
    WARNING,
    noticed={Question.KERNEL_ANSWER: KERNEL_LIMITS},
)
class OtherAnswer(Finding):
    """the CPU kernel of op `{op}` in {target} gives different results from later releases: {about}

    ## Cause
    The kernel is registered and runs, but its results differ from those of later releases, for
    which the model may have been made. The differences were recorded by running many releases'
    kernels: dilations that are ignored, boxes that soft suppression drops, minus infinity that
    becomes the lowest finite number, the edges of transformed images, sines of large angles, bits
    that are cut off instead of rounded for bfloat16, bfloat16 constants read as zeros, and n-gram
    splits that are not written.
    ## Fix
    `tfport fix --for TARGET` writes other nodes that give the later releases' results, or says that
    there are none. Or use a later release.
    ## Example
        x = Placeholder() {dtype=float32, shape=(?, 4)}
        axis = Const() {dtype=int32, value=int32()[1]}
        y = CumulativeLogsumexp(x, axis) {T=float32, Tidx=int32, exclusive=true}
        on tensorflow==1.15.5
    """

    about: str
    limit: KernelLimit

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        limit: KernelLimit = unresolved.answer.expected
        return cls(about=limit.about, limit=limit)

    def cause(self) -> str:
        return f"{self.limit.cause}; recorded from real binaries, different from {self.limit.until} on"

    def fixes(self) -> list[str]:
        return [f"use a release from {self.limit.until} on", "`tfport fix` tries other nodes"]
