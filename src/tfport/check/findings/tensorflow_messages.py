"""The text of TensorFlow's own errors, where it is known without running TensorFlow.

The name of the machine is `HOST`. Where releases word an error differently, the target's
release decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfport.atlas.target import Target
from tfport.check.devices import kinds_of_devices
from tfport.check.release_quirks import since
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, FunctionRef, Placeholder, decode
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.registry.kernels import Kernel

OLDER = (
    "(Check whether your GraphDef-interpreting binary is up to date with your GraphDef-generating binary.)."
)


def not_registered(op: str, target: Target) -> str:
    head = f"Op type not registered '{op}' in binary running on HOST."
    if not since(target, "1.5"):
        return f"{head} Make sure the Op and Kernel are registered in the binary running in this process."
    return (
        f"{head} Make sure the Op and Kernel are registered in the binary running in this process. Note that "
        "if you are loading a saved graph which used ops from tf.contrib, accessing (e.g.) "
        "`tf.contrib.resampler` should be done before importing the graph, as contrib ops are lazily "
        "registered when the module is first accessed."
    )


def deprecated(op: str, version: int, removed: int, advice: str) -> str:
    return (
        f"Op {op} is not available in GraphDef version {version}. It has been removed in version {removed}. "
        f"{advice}."
    )


def unknown_attr(attr: str, node: Node, definition: OpDef, target: Target) -> str:
    named = f"NodeDef mentions attr '{attr}' not in {op_text(definition)}"
    return f"{named}; NodeDef: {node_text(node, target)}. {OLDER}"


def missing_attr(attr: str, node: Node, target: Target) -> str:
    if isinstance(node.graph, Function):
        return f"type attr not found: {attr}\n\tIn {node_text(node, target)}"
    return f"No attr named '{attr}' in NodeDef:\n\t [[{node_text(node, target)}]]"


def attr_type(attr: str, actual: str, wanted: str, node: Node, definition: OpDef, target: Target) -> str:
    return (
        f"AttrValue had value with type '{actual}' when '{wanted}' expected\n\t for attr '{attr}'\n\t; "
        f"NodeDef: {node_text(node, target)}; {op_text(definition)}"
    )


def value_not_allowed(attr: str, value: Attr, node: Node, definition: OpDef, target: Target) -> str:
    allowed = (decode(a.allowed_values) for a in definition.attr if a.name == attr)
    listed = ", ".join(map(_plain, next(allowed, [])))
    return (
        f"Value for attr '{attr}' of {_plain(value)} is not in the list of allowed values: {listed}\n\t; "
        f"NodeDef: {node_text(node, target)}; {op_text(definition)}"
    )


def below_minimum(attr: str, value: str, minimum: int, node: Node, definition: OpDef, target: Target) -> str:
    length = value.removeprefix("a list of ")
    what = "Value" if length == value else "Length"
    return (
        f"{what} for attr '{attr}' of {length} must be at least minimum {minimum}\n\t; "
        f"NodeDef: {node_text(node, target)}; {op_text(definition)}"
    )


def input_count(types: Sequence[DType], actual: int, node: Node, target: Target) -> str:
    if actual > len(types) and since(target, "1.15"):
        return f"Input {len(types)} of node {node.name} does not exist. Node only has {len(types)} inputs."
    expected = ", ".join(map(_type, types))
    return (
        f"NodeDef expected inputs '{expected}' do not match {actual} inputs specified; "
        f"{node_text(node, target)}"
    )


def input_type(index: int, actual: DType, wanted: DType, node: Node) -> str:
    source = node.inputs[index]
    return (
        f"Input {index} of node {node.name} was passed {_type(actual)} from {source.name} incompatible with "
        f"expected {_type(wanted)}."
    )


def no_kernel(node: Node, attrs: Mapping[str, Attr], kernels: Sequence[Kernel], target: Target) -> str:
    listed = "".join(f"  {_kernel(kernel)}\n" for kernel in kernels) or "  <no registered kernels>\n"
    devices = ", ".join(kinds_of_devices(target))
    head = f"No OpKernel was registered to support Op '{node.op}'"
    if not since(target, "1.13"):
        return f"{head} with these attrs.  Registered devices: [{devices}], Registered kernels:\n{listed}"
    space = " " if since(target, "2.2") else ""  # missing before
    shown = ", ".join(f"{k}={_value(v)}" for k, v in sorted(attrs.items()))
    return (
        f"{head} used by {_node(node)}{space}with these attrs: [{shown}]\n"
        f"Registered devices: [{devices}]\nRegistered kernels:\n{listed}"
    )


def no_device(node: Node, target: Target) -> str:
    devices = ", ".join(f"/job:localhost/replica:0/task:0/device:{k}:0" for k in kinds_of_devices(target))
    name, operation = node.name, f"{_node(node)} " if since(target, "1.15") else _node(node)
    if not since(target, "1.13"):
        name, operation = (name if since(target, "1.12") else f"'{name}'"), "Operation "
    return (
        f"Cannot assign a device for operation {name}: {operation}was explicitly assigned to {node.device} "
        f"but available devices are [ {devices} ]. Make sure the device specification refers to a valid "
        "device."
    )


def no_kernel_on_device(node: Node, kind: str, target: Target) -> str:
    name = node.name if since(target, "1.12") else f"'{node.name}'"
    return (
        f"Cannot assign a device for operation {name}: Could not satisfy explicit device specification "
        f"'{node.device}' because no supported kernel for {kind} devices is available."
    )


def no_function(name: str, target: Target) -> str:
    if since(target, "1.14"):
        return f'Failed to find function "{name}" in function library'
    return f"Function {name} is not defined."


def unset_variable(name: str, op: str, target: Target) -> str:
    if op != "VarHandleOp":
        return f"Attempting to use uninitialized value {name}"
    if since(target, "2.5"):
        return (
            f"Could not find variable {name}. This could mean that the variable has been deleted. In TF1, it "
            "can also mean the variable is uninitialized."
        )
    return (
        f"Error while reading resource variable {name} from Container: localhost. This could mean that the "
        "variable was uninitialized."
    )


def _node(node: Node) -> str:
    return f"{{{{node {node.name}}}}}"


def node_text(node: Node, target: Target) -> str:
    """A node as in TensorFlow's messages (SummarizeNodeDef): whole until 1.12, then only its name."""
    if since(target, "1.13"):
        return _node(node)
    reads = [value.node.name if not value.index else value.name for value in node.inputs]
    reads += [f"^{control.name}" for control in node.controls]
    shown = [f"{name}={_value(value)}" for name, value in sorted(node.attrs.items())]
    shown += [f'_device="{node.device}"'] if node.device else []
    name = _node(node) if since(target, "1.12") else node.name
    return f"{name} = {node.op}[{', '.join(shown)}]({', '.join(reads)})"


def op_text(op: OpDef) -> str:
    """A definition as in TensorFlow's messages (SummarizeOpDef)."""
    inputs = ", ".join(map(_arg, op.input_arg))
    outputs = ", ".join(map(_arg, op.output_arg))
    parts = [f"name={op.name}", f"signature={inputs} -> {outputs}", *map(_attr_def, op.attr)]
    parts += ["is_stateful=true"] if op.is_stateful else []
    return f"Op<{'; '.join(parts)}>"


def _arg(arg: OpDef.ArgDef) -> str:
    kind = arg.type_list_attr or (_type(DType.of(arg.type)) if arg.type else arg.type_attr)
    kind = f"Ref({kind})" if arg.is_ref else kind
    return f"{arg.name}:{arg.number_attr}*{kind}" if arg.number_attr else f"{arg.name}:{kind}"


def _attr_def(attr: OpDef.AttrDef) -> str:
    text = f"attr={attr.name}:{attr.type}"
    text += f",default={_value(decode(attr.default_value))}" if attr.HasField("default_value") else ""
    text += f",min={attr.minimum}" if attr.has_minimum else ""
    if attr.HasField("allowed_values"):
        text += f",allowed={_value(decode(attr.allowed_values))}"
    return text


def _kernel(kernel: Kernel) -> str:
    text = f"device='{kernel.device}'"
    text += f"; label='{kernel.label}'" if kernel.label else ""
    for name, values in kernel.constraints.items():
        text += f"; {name} in [{', '.join(map(_value, values))}]"
    return text


def _type(dtype: DType) -> str:
    """The name of a type in TensorFlow's messages: `float` for float32."""
    name = dtype.base.tf.removeprefix("DT_").lower()
    return f"{name}_ref" if dtype.is_ref else name


def _plain(value: Attr) -> str:
    return _type(value) if isinstance(value, DType) else _value(value)


def _value(value: Attr) -> str:
    """The value of an attribute as in TensorFlow's messages (SummarizeAttrValue)."""
    match value:
        case bool():
            return "true" if value else "false"
        case DType():
            return value.tf
        case str():
            return f'"{value}"'
        case bytes():
            return f'"{value.decode(errors="backslashreplace")}"'
        case float():
            return f"{value:g}"
        case list():
            return f"[{_some(map(_value, value))}]"
        case Shape():
            return str(value).replace("(", "[").replace(")", "]").replace(", ", ",").replace(",]", "]")
        case Tensor():
            return f"<Tensor of {_type(value.dtype)}>"
        case FunctionRef():
            return f"{value.name}[]"
        case Placeholder():
            return f"${value.name}"
    return str(value)


def _some(items: Iterable[str]) -> str:
    return ", ".join(items)
