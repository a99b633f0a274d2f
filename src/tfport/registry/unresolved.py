"""Why a runtime cannot run a node: the question that failed, what was found, what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tfport.graph.attrs import Attr
from tfport.registry.kernels import Kernel


class Question(Enum):
    """What a runtime asks of a node, in the order in which TensorFlow asks."""

    NAME = "is its name one that TensorFlow takes?"
    OP = "is the op registered?"
    DEPRECATED = "may a graph of this version use the op?"
    OUTDATED = "may a graph of the runtime's own version use it?"
    UNKNOWN_ATTR = "does the op have the attribute?"
    DATA_TYPE = "does the runtime know the type of elements?"
    ATTR_TYPE = "is the attribute of the right type?"
    ATTR_MINIMUM = "is it as large or long as it must be?"
    ATTR_VALUE = "is its value one of those allowed?"
    DEFAULT_ATTR = "are those there that have one?"
    MISSING_ATTR = "are all attributes there that have no default?"
    INPUT_THERE = "is everything there that it reads?"
    OUTPUT_THERE = "does that have the output which it reads?"
    INPUT_ORDER = "are the nodes it waits for listed after what it reads?"
    INPUTS_FEW = "are there as many inputs as the op takes?"
    INPUTS_MANY = "are there no more than that?"
    INPUT_TYPE = "are they of the types it takes?"
    ACYCLIC = "can it run before what reads it?"
    KERNEL = "is there a kernel for a device that is there?"
    KERNEL_TYPE = "does one of them take these types?"
    REFUSED = "does the kernel do what the attributes ask for?"
    REFUSED_WITHOUT_ONEDNN = "does it on any CPU?"
    LOWERING = "can it be lowered to the loops and branches of TF1, as it asks?"
    ONLY_XLA = "is there a kernel other than XLA's?"
    DEVICE = "is the device there that the node asks for?"
    JOB = "is the machine there that it asks for?"
    DEVICE_NAME = "is that the name of a device?"
    COLOCATION = "is the node there beside which it is to run?"
    FUNCTION = "is the function there that it names?"
    CALLEE = "is the function there that it is a call of?"
    RECURSION = "does the function end without calling itself?"
    GENERIC = "does the function say the types of its arguments?"
    FUNCTION_NAME = "is the function's name no op's?"
    CALL_TYPES = "does the function take and give what the call says?"


PLACEMENT = frozenset((Question.KERNEL, Question.KERNEL_TYPE, Question.DEVICE))


@dataclass(frozen=True, slots=True)
class Unresolved:
    """One reason."""

    question: Question
    attr: str = ""
    actual: Attr = None
    expected: Attr = None
    index: int = -1
    """The input that it is about."""
    structural: bool = False
    """Whether it keeps a node from being made at all: an attribute that says how many edges of which type."""
    kernels: tuple[Kernel, ...] = ()
    """The kernels that there are, for other devices, types or labels."""
