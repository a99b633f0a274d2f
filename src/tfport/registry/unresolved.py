"""Why a runtime cannot run a node: the question that failed, the actual value and the expected one."""

from __future__ import annotations

from enum import Enum

from tfport.graph.attrs import Attr
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import dataclass


class Question(Enum):
    """What a runtime asks of a node, in TensorFlow's order; the registry asks the first part."""

    OP = "is the op registered?"
    DEPRECATED = "is the op allowed in a graph of this version?"
    OUTDATED = "is the op allowed in a graph of the runtime's own version?"
    UNKNOWN_ATTR = "does the op have the attribute?"
    DATA_TYPE = "does the runtime have the data type?"
    ATTR_TYPE = "does the attribute have the right type?"
    ATTR_MINIMUM = "is the attribute at least its minimum?"
    ATTR_VALUE = "is the attribute's value allowed?"
    MISSING_ATTR = "are all attributes without a default present?"
    INPUTS_FEW = "are there enough inputs?"
    INPUTS_MANY = "are there no extra inputs?"
    INPUT_TYPE = "do the inputs have the declared types?"
    KERNEL = "is there a kernel for an available device?"
    KERNEL_TYPE = "is there a kernel for these types?"
    # what `check` asks beyond the registry, of a release or a machine
    DEFAULT_ATTR = "are all attributes with a default present?"
    KERNEL_LIMIT = "does the kernel support these attributes?"
    KERNEL_LIMIT_WITHOUT_ONEDNN = "does the kernel support these attributes on every CPU?"
    KERNEL_ANSWER = "does the kernel give the same results as in later releases?"
    LOWERING = "can it be lowered to TF1 loops and branches?"
    ONLY_XLA = "is there a kernel other than XLA's?"
    CALL_DEVICE = "is there a kernel for the device of the call?"
    DEVICE = "is the requested device available?"
    JOB = "is the requested machine available?"
    DEVICE_NAME = "is the device name valid?"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """One question that failed."""

    question: Question
    attr: str = ""
    actual: Attr = None
    expected: Attr = None
    index: int = -1
    """The input that it is about."""
    structural: bool = False
    """Whether the node cannot be built at all: the attribute determines the number or types of its edges."""
    kernels: tuple[Kernel, ...] = ()
    """The existing kernels, for other devices, types or labels."""
