"""Does the target have the device that a node asks for? Findings 303 and 304."""

from __future__ import annotations

from typing import Self

from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.unresolved_nodes import UnresolvedNodes
from tfport.check.noticed import DEVICE_NAMES, DEVICES, PLACEMENT
from tfport.registry.unresolved import Question


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
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls(device=unresolved.answer.actual)

    def cause(self) -> str:
        return f"the node names {self.device}, and a session without soft placement uses no other device"

    def says(self) -> str:
        return tensorflow_messages.no_device(self.nodes[0], self.on)

    def fixes(self) -> list[str]:
        return ["export again with clear_devices=True", "--soft-placement, if the loader enables it"]


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
