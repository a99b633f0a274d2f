"""Can a node run on the device that it asks for? Findings 303, 304 and 313."""

from __future__ import annotations

from typing import Self

from tfport.atlas.kernel_history import kernel_text, merged
from tfport.check.checked_model import UnresolvedNodes
from tfport.check.devices import requested_kind
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.kernels import MOST
from tfport.check.loader_stages import CALL_DEVICES, DEVICE_NAMES, DEVICES, PLACEMENT
from tfport.registry.kernels import Kernel
from tfport.registry.unresolved import Question

CLEAR_DEVICES = ["export again with clear_devices=True", "--soft-placement, if the loader enables it"]


@finding("TFP303", "device-not-there", noticed={Question.DEVICE: DEVICES, Question.JOB: PLACEMENT})
class MissingDevice(Finding):
    """node `{node}` asks for device {device}, which {target} does not have

    ## Cause
    The graph was exported with devices, and the loader has no soft placement: TensorFlow
    Serving and the C API use exactly the device that a node names. Python's TF2 loader
    uses another device if necessary.
    ## Fix
    Export with `clear_devices=True` (TF1), or outside of `tf.device`; or set
    `allow_soft_placement` where the loader has it.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Neg(x) {T=float32} @"/device:GPU:0"
        on tensorflow==2.8.4
        loader serving
    """

    device: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        return None if unresolved.answer.kernels else cls(device=unresolved.answer.actual)

    def cause(self) -> str:
        return f"the node names {self.device}, and without soft placement a session uses no other device"

    def says(self) -> str:
        return tensorflow_messages.no_device(self.nodes[0], self.on)

    def fixes(self) -> list[str]:
        return CLEAR_DEVICES


@finding("TFP313", "no-kernel-on-requested-device", noticed={Question.DEVICE: DEVICES})
class NoKernelOnRequestedDevice(Finding):
    """node `{node}` asks for device {device}, for which op `{op}` has no kernel in {target}

    ## Cause
    The op has kernels, but none for the requested device with these types, and the loader
    has no soft placement: TensorFlow Serving and the C API use exactly the device that a
    node names. Python's TF2 loader uses another device if necessary.
    ## Fix
    Export with `clear_devices=True` (TF1), or outside of `tf.device`; or set
    `allow_soft_placement` where the loader has it.
    ## Example
        tfport check tests/truth/models/on_gpu_decode_raw --on tensorflow==2.21.0 --device gpu
    """

    device: str
    kernels: tuple[Kernel, ...] = ()

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        kernels = unresolved.answer.kernels
        return cls(device=unresolved.answer.actual, kernels=kernels) if kernels else None

    def cause(self) -> str:
        kind = requested_kind(self.device)
        if there := [kernel_text(k) for k in merged([k for k in self.kernels if k.device == kind])]:
            return f"its kernels for {kind} support {' or '.join(there[:MOST])}"
        devices = sorted({kernel.device for kernel in self.kernels if "JIT" not in kernel.device})
        return f"its kernels are for {' and '.join(devices)}"

    def says(self) -> str:
        return tensorflow_messages.no_kernel_on_device(self.nodes[0], requested_kind(self.device), self.on)

    def fixes(self) -> list[str]:
        return CLEAR_DEVICES


@finding("TFP314", "no-kernel-on-device-of-call", noticed={Question.CALL_DEVICE: CALL_DEVICES})
class NoKernelOnDeviceOfCall(Finding):
    """op `{op}` has no kernel for the {device}, where {target} runs the function of node `{node}`

    ## Cause
    A function that is called by name, and branches and loops that are not lowered, run on one
    device: that of the calling node, which TensorFlow places on the GPU.
    ## Fix
    Ask for the CPU where the function is called (`tf.device("/cpu:0")`), or export with
    TensorFlow 2, which lowers branches and loops.
    ## Example
        tfport check tests/truth/models/named_call_on_cpu_gpu --on tensorflow==2.21.0 --device gpu
    """

    device: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls(device=unresolved.answer.actual)

    def says(self) -> str:
        return f"No registered '{self.op}' OpKernel for '{self.device}' devices compatible with node"


@finding("TFP304", "no-device-name", noticed={Question.DEVICE_NAME: DEVICE_NAMES})
class InvalidDeviceName(Finding):
    """node `{node}` asks for device `{device}`, which is not a valid device name

    ## Cause
    A device name is `/job:…/replica:…/task:…/device:KIND:NUMBER`, or some parts of that.
    ## Fix
    Export again with `clear_devices=True`, or outside of `tf.device`.
    ## Example
        y = NoOp() @"somewhere"
        on tensorflow==2.8.4
    """

    device: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls(device=unresolved.answer.actual)

    def says(self) -> str:
        return f"Malformed device specification '{self.device}'"
