"""The role of an input, if its dtype and shape are not enough to generate useful values.

A string may be an Example, an image, a line of CSV or a number as text, also in base64; the nodes that
read it tell which. A number may be the `keep_prob` or the `rate` of dropout, which is off in inference; so is
a bool that chooses a branch with random numbers.
Three inputs may form a sparse tensor, two a ragged one; the signature tells, or the structure that
the exporting program recorded for each function, or the sparse ops that read them. Five or more are a system
of atoms, if an op of DeePMD-kit reads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tfport.fix.certify.inputs.examples import SequenceFeatures, WantedFeature, sequences_by, wanted_by
from tfport.fix.certify.inputs.input_uses import index_limit
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.dtypes import BOOL, STRING, DType
from tfport.graph.graph import ARG, Function, Node, Value
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.op_facts.kinds import SWITCHES
from tfport.graph.reach import needed_by
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.value_readers import Reading, pass_through_outputs, readings
from tfport.runtime.program import DRAWS
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    pass


IMAGES = {"DecodeJpeg", "DecodePng", "DecodeImage", "DecodeBmp", "DecodeGif", "DecodeAndCropJpeg"}
NUMBERS = {"StringToNumber"}
BASE64 = "DecodeBase64"
SEGMENTS = ("Segment", "SparseSegment")
"""Ops whose segment ids must be sorted."""
VALUES, INDICES, SHAPE, SPLITS = "values", "indices", "shape", "splits"
COORD, TYPE, NATOMS, BOX, MESH = "coord", "type", "natoms", "box", "mesh"
MIXED_MESH, OF_FRAME, OF_ATOMS = "mixed mesh", "of frame", "of atoms"
ATOM_PREFIXES = ("ProdEnvMat", "Descrpt")
"""Ops that read a system of atoms; the arguments have the names above."""
ATOM_PARAMETERS = {"t_ef": OF_ATOMS, "t_aparam": OF_ATOMS, "t_fparam": OF_FRAME}
"""What DeePMD-kit calls an electric field, parameters of each atom, and of all."""


@dataclass(frozen=True, slots=True)
class TensorPart:
    """A part of a sparse or ragged tensor or a system of atoms; the `whole` tells which belong together."""

    whole: str
    kind: str
    index: int = 0
    """Which row splits, from the outermost; of `of atoms` and `of frame`, how many
    numbers; of `natoms`, how many atoms if this is fixed."""
    of: Shape = UNKNOWN
    """The shape of the whole, if it is known."""


@dataclass(slots=True)
class Role:
    """The role of one tensor."""

    examples: list[WantedFeature] | None = None
    text: str = ""
    """`image` or `number`, for strings that must be that."""
    csv: CsvFields | None = None
    sequences: SequenceFeatures | None = None
    base64: bool = False
    """Whether strings are decoded from web-safe base64 first."""
    dropout_off: float | None = None
    """For what turns dropout on: the `keep_prob` or `rate` that keeps everything, or false."""
    limit: int | None = None
    """For indices: the number of rows of the smallest table that they select from."""
    is_sorted: bool = False
    """Whether it must not decrease: segment ids."""
    part: TensorPart | None = None
    guessed: list[TensorPart] = field(default_factory=list)
    """The parts that sparse ops read it as."""

    @property
    def features(self) -> list[WantedFeature]:
        """The features of Examples or SequenceExamples."""
        return [*(self.examples or ()), *(self.sequences.all if self.sequences is not None else ())]

    @property
    def is_parsed(self) -> bool:
        """Whether strings must have a certain form."""
        forms = (self.examples, self.sequences, self.csv)
        return any(form is not None for form in forms) or bool(self.text) or self.base64


@dataclass(slots=True)
class Roles:
    """The roles of a signature's tensors by their names, `x:0`."""

    by_tensor: dict[str, Role] = field(default_factory=dict)

    def of(self, tensor: str) -> Role:
        return self.by_tensor.setdefault(tensor, Role())


def roles_of(model: Model, signature: Signature) -> Roles:
    roles = Roles()
    for name, spec in signature.inputs.items():
        if spec.form != "dense":
            for tensor, part in zip(spec.tensors, _declared(name, spec), strict=False):
                roles.of(tensor).part = part
        elif model.has_tensor(spec.tensors[0]):
            _infer(model, spec, roles.of(spec.tensors[0]))
    _settle(roles.by_tensor.values())
    systems = [r.part.whole for r in roles.by_tensor.values() if r.part and r.part.kind == NATOMS]
    for spec in signature.inputs.values() if systems else ():
        name = spec.tensors[0].partition(":")[0].rpartition("/")[2]
        if name in ATOM_PARAMETERS and spec.form == "dense" and model.has_tensor(spec.tensors[0]):
            count = _last_size(model.graph.value(spec.tensors[0])) or (3 if name == "t_ef" else 1)
            part = TensorPart(systems[0], ATOM_PARAMETERS[name], count)
            roles.of(spec.tensors[0]).part = part
    return roles


def _settle(roles: Collection[Role]) -> None:
    """Of the guessed parts of a tensor, keep the one whose whole has the most other parts."""
    wholes = Counter(part.whole for role in roles for part in role.guessed)
    for role in roles:
        if role.part is None and role.guessed:
            role.part = max(role.guessed, key=lambda part: wholes[part.whole])


def _declared(name: str, spec: TensorSpec) -> Iterator[TensorPart]:
    """The parts of an input that the signature declares as composite."""
    if spec.form == "sparse":
        yield from (TensorPart(name, kind, of=spec.shape) for kind in (VALUES, INDICES, SHAPE))
    elif spec.form == "ragged":
        yield TensorPart(name, VALUES)
        yield from (TensorPart(name, SPLITS, index) for index in range(len(spec.tensors) - 1))


def _infer(model: Model, spec: TensorSpec, role: Role) -> None:
    """Infer a role from the nodes that read an input."""
    features: dict[str, WantedFeature] = {}
    for reading in readings(model.graph.value(spec.tensors[0]), _decoded):
        op = reading.node.op
        if op == ARG:
            role.part = role.part or _noted(model, reading)
        elif part := _sparse_op(reading) or _atom_op(reading):
            role.guessed.append(part)
        role.is_sorted |= op.startswith(SEGMENTS) and reading.argument == "segment_ids"
        if spec.dtype.is_floating and role.dropout_off is None:
            role.dropout_off = _dropout_off(reading)
        elif spec.dtype == BOOL and _is_true_for_random(reading):
            role.dropout_off = False
        if spec.dtype == STRING:
            features.update({feature.key: feature for feature in wanted_by(reading) or ()})
            role.csv = role.csv or csv_fields(reading)
            role.sequences = role.sequences or sequences_by(reading)
            role.base64 |= op == BASE64
            role.text = role.text or ("image" if op in IMAGES else "number" if op in NUMBERS else "")
    role.examples = list(features.values()) or None
    role.limit = index_limit(model.graph.value(spec.tensors[0]))


def _decoded(node: Node, index: int) -> list[Value]:
    """The outputs with the elements of an input, also if they are decoded from base64."""
    return node.outputs if node.op == BASE64 else pass_through_outputs(node, index)


def _dropout_off(reading: Reading) -> float | None:
    """The value that turns dropout off: 1 for `keep_prob`, 0 for `rate`; None if this is neither."""
    node, index = reading.node, reading.index
    if len(node.inputs) != 2 or not _is_uniform(node.inputs[1 - index].node):
        return None
    if node.op in ("Add", "AddV2"):
        return 1.0
    return 0.0 if node.op == "GreaterEqual" and index == 1 else None


def _is_true_for_random(reading: Reading) -> bool:
    """Whether a predicate chooses a branch with random numbers where it is true."""
    switch = reading.node
    if switch.op not in SWITCHES or reading.index != 1:
        return False
    branch = needed_by(node for node in switch.graph if node.op in DRAWS)
    return any(user in branch for user in switch.output(1).uses)


def _is_uniform(node: Node) -> bool:
    """Whether a node draws random numbers as `tf.random_uniform` does: scaled and moved by constants."""
    while node.op in ("Add", "AddV2", "Mul") and len(node.inputs) == 2:
        node = node.inputs[0].node
    return node.op == "RandomUniform"


def _sparse_op(reading: Reading) -> TensorPart | None:
    """The part that a sparse op reads, by the name of its argument: `a_indices`, `dense_shape`."""
    signature = reading.node.signature
    if not reading.node.op.startswith("Sparse") or signature is None:
        return None
    if any(arg.is_list for arg in signature.inputs) or reading.index >= len(signature.inputs):
        return None
    name = signature.inputs[reading.index].name
    kind = next((kind for kind in (INDICES, VALUES, SHAPE) if name.endswith(kind)), None)
    side = name[:2] if name.startswith(("a_", "b_")) else ""
    return TensorPart(f"{reading.node.name}/{side}", kind) if kind else None


def _atom_op(reading: Reading) -> TensorPart | None:
    """The part of a system of atoms that an op of DeePMD-kit reads."""
    node, argument = reading.node, reading.argument
    if not node.op.startswith(ATOM_PREFIXES) or node.signature is None:
        return None
    if argument not in (COORD, TYPE, NATOMS, BOX, MESH):
        return None
    names = [arg.name for arg in node.signature.inputs]
    if NATOMS not in names or len(node.inputs) != len(names):
        return None
    if argument == MESH and node.op.endswith("Mix"):
        argument = MIXED_MESH
    atoms = {int(n.attrs["total_atom_num"]) for n in node.graph if "total_atom_num" in n.attrs}
    fixed = atoms.pop() if len(atoms) == 1 and argument == NATOMS else 0
    return TensorPart(str(node.inputs[names.index(NATOMS)]), argument, fixed)


def _last_size(value: Value) -> int | None:
    """The size of the last axis that an input is reshaped to."""
    for reading in readings(value):
        shape = reading.constant(1) if reading.node.op == "Reshape" and reading.index == 0 else None
        if shape is not None and shape.size and int(shape.flat[-1]) > 0:
            return int(shape.flat[-1])
    return None


def _noted(model: Model, reading: Reading) -> TensorPart | None:
    """The part that an argument of a function is, by the structure that the exporting program recorded."""
    function = reading.node.graph
    assert isinstance(function, Function)
    noted = model.meta.object_graph_def.concrete_functions
    if function.name not in noted:
        return None
    flat = list(_flattened([noted[function.name].canonicalized_input_signature], function.name))
    index = function.arguments.index(reading.node.output(reading.index))
    return flat[index] if index < len(flat) else None


def _flattened(values: Iterable[pb.StructuredValue], path: str) -> Iterator[TensorPart | None]:
    """A part, or None for a plain tensor, for each tensor of a structure, in the order of arguments."""
    for i, value in enumerate(values):
        here, kind = f"{path}/{i}", value.WhichOneof("kind")
        if kind in ("tuple_value", "list_value"):
            yield from _flattened(getattr(value, kind).values, here)
        elif kind == "dict_value":
            yield from _flattened((v for _, v in sorted(value.dict_value.fields.items())), here)
        elif kind == "named_tuple_value":
            yield from _flattened((pair.value for pair in value.named_tuple_value.values), here)
        elif kind in ("tensor_spec_value", "bounded_tensor_spec_value"):
            yield None
        elif kind == "type_spec_value":
            yield from _composite(value.type_spec_value, here)


def _composite(spec: pb.TypeSpecProto, path: str) -> Iterator[TensorPart | None]:
    state = list(spec.type_state.tuple_value.values)
    shape = next(
        (Shape.from_proto(v.tensor_shape_value) for v in state if v.HasField("tensor_shape_value")), UNKNOWN
    )
    if spec.type_spec_class == pb.TypeSpecProto.SPARSE_TENSOR_SPEC:
        yield from (TensorPart(path, kind, of=shape) for kind in (INDICES, VALUES, SHAPE))
    elif spec.type_spec_class == pb.TypeSpecProto.RAGGED_TENSOR_SPEC:
        rank = next((v.int64_value for v in state if v.WhichOneof("kind") == "int64_value"), 1)
        yield TensorPart(path, VALUES)
        yield from (TensorPart(path, SPLITS, index) for index in range(min(rank, 32)))
    else:
        yield from _flattened([spec.type_state], path)


# Lines of CSV.


@dataclass(frozen=True, slots=True)
class CsvFields:
    """The fields of a line that DecodeCSV parses."""

    types: Sequence[DType]
    delimiter: bytes


def csv_fields(reading: Reading) -> CsvFields | None:
    """The fields that a node parses; None if it does not parse CSV."""
    types, delimiter = reading.node.attrs.get("OUT_TYPE"), reading.node.attrs.get("field_delim", ",")
    if reading.node.op != "DecodeCSV" or reading.index != 0 or not isinstance(types, list):
        return None
    raw = delimiter if isinstance(delimiter, bytes) else str(delimiter).encode()
    return CsvFields([dtype for dtype in types if isinstance(dtype, DType)], raw)
