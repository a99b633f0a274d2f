"""Can Python restore the objects and signatures of a model? Findings 043 to 048."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import AT_LOAD, NOT_CHECKED, OBJECTS, Noticed
from tfport.check.loaders import KERAS, Loader, has_objects
from tfport.check.release_quirks import since
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL

KERAS_2 = ("optimizer", "experimentalOptimizer")
"""The kinds of optimizers that Keras 2 restores."""
NEWER_VALUES = {"tensor_value": "2.13", "numpy_value": "2.14", "bounded_tensor_spec_value": "2.3"}
"""Kinds of values in the signatures of functions, and the first release that knows each."""
NEWER_OBJECTS = {"captured_tensor": "2.6"}
"""Kinds of objects, and the first release that knows each."""


@finding("TFP043", "optimizer-of-another-keras", noticed=OBJECTS)
class OptimizerOfAnotherKeras(Finding):
    """the model was saved with optimizer state that {target} cannot restore

    ## Cause
    The model was saved after training, with its optimizer's slot variables. Python looks up the
    optimizer by its registered type. From 2.16 on, TensorFlow contains Keras 3, which does not
    register Keras 2's types unless `tf_keras` is imported. Serving is not affected because it
    restores no objects.
    ## Fix
    `pip install tf_keras` and import it before loading; or save the model again without
    its optimizer (`model.save(path, include_optimizer=False)`), or with
    `model.export(path)`.
    ## Example
        tfport check tests/truth/keras/functional_adam-2.0.4 --on tensorflow==2.16.2 \\
            --loader python
    """

    identifier: str

    def cause(self) -> str:
        return f"its type is `{self.identifier}`"

    def says(self) -> str:
        return "'_UserObject' object has no attribute 'add_slot'"

    def fixes(self) -> list[str]:
        return ["pip install tf_keras, and import it before the model is loaded"]


@finding("TFP044", "newer-argument", noticed=OBJECTS)
class NewerArgument(Finding):
    """a function of the model has an argument that {target} cannot read: a {kind}

    ## Cause
    The signature of a function, or one of its defaults, has a kind of value that a later
    release added. Only Python reads it.
    ## Fix
    Use that release, or export again without such an argument or default.
    ## Example
        tfport check tests/models/default_arguments --on tensorflow==2.8.4 --loader python
    """

    kind: str

    def says(self) -> str:
        return "No encoder for object of type <class 'tensorflow.core.protobuf.struct_pb2.StructuredValue'>."


@finding(
    "TFP045",
    "missing-collection-member",
    noticed=Noticed(
        serving=NOT_CHECKED, python_1=AT_LOAD, python_2=AT_LOAD, objects=NOT_CHECKED, tfport=NOT_CHECKED
    ),
)
class MissingCollectionMember(Finding):
    """collection `{collection}` names `{member}`, which is not in the graph

    ## Cause
    The graph was cut or edited after the collection was written. Only Python reads
    collections.
    ## Fix
    Export the model again, or remove the collection.
    ## Example
        tfport check tests/truth/models/collection_of_nobody --on tensorflow==2.8.4 \\
            --loader python
    """

    collection: str
    member: str

    def says(self) -> str:
        return f"The name '{self.member}' refers to a Tensor which does not exist."


@finding("TFP046", "newer-object", noticed=OBJECTS)
class NewerObject(Finding):
    """an object of the model is a {kind}, which {target} cannot restore

    ## Cause
    A later release added this kind of object. Only Python restores objects.
    ## Fix
    Use that release, or load it with TensorFlow Serving or the C API.
    ## Example
        tfport check tests/check/models/newer_object --on tensorflow==2.5.3 --loader python
    """

    kind: str

    def says(self) -> str:
        return "Unknown SavedObject type: None"


@finding(
    "TFP047",
    "input-named-twice",
    noticed=Noticed(
        serving=NOT_CHECKED,
        python_2={"0": NOT_CHECKED, "2.0": AT_LOAD},
        objects=NOT_CHECKED,
        tfport=NOT_CHECKED,
    ),
)
class InputNamedTwice(Finding):
    """two inputs of signature {signature} name the tensor `{tensor}`, which Python cannot load

    ## Cause
    Python turns each signature of a TF1 model into a function, and a function takes each tensor
    only once. A session accepts both inputs.
    ## Fix
    Export again with one input for the tensor, or load it in a session.
    ## Example
        tfport check tests/check/models/input_named_twice --on tensorflow==2.8.4 --loader python
    """

    tensor: str

    def says(self) -> str:
        return f"TF_Output {self.tensor} appears more than once in the input list"


@finding(
    "TFP048",
    "sparse-signature",
    noticed=Noticed(
        serving=NOT_CHECKED,
        python_2={"0": NOT_CHECKED, "2.0": AT_LOAD, "2.1": NOT_CHECKED},
        objects=NOT_CHECKED,
        tfport=NOT_CHECKED,
    ),
)
class SparseSignature(Finding):
    """signature {signature} has a sparse tensor, which Python in {target} cannot load

    ## Cause
    Python in 2.0 expects each input of a TF1 model to be one named tensor, but a sparse tensor is
    three.
    ## Fix
    Use a later release, or load it in a session.
    ## Example
        tfport check tests/models/simple_save --on tensorflow==2.0.4 --loader python
    """

    def says(self) -> str:
        return "The name '' refers to an Operation not in the graph."


@check
def objects_can_be_restored(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    saved_model = model.model
    if saved_model.format is not SAVED_MODEL or not has_objects(saved_model):
        return
    # 2.6 and 2.7 know the kinds of Keras only once Keras is imported
    keras_missing = since(target, "2.6") and not since(target, "2.8") and loader.name != KERAS
    without_keras = since(target, "2.16") or keras_missing
    known = ("tf_deprecated_optimizer", *(() if without_keras else KERAS_2))
    for identifier in model.once(_objects_with_slots):
        if identifier not in known:
            yield OptimizerOfAnotherKeras(identifier=identifier)
    for kind in model.once(_kinds_of_objects):
        if kind in NEWER_OBJECTS and not since(target, NEWER_OBJECTS[kind]):
            yield NewerObject(kind=kind.replace("_", " "))
    for kind in model.once(_kinds_of_values):
        if kind in NEWER_VALUES and not since(target, NEWER_VALUES[kind]):
            yield NewerArgument(kind=kind.removesuffix("_value").replace("_", " "))


def _objects_with_slots(model: CheckedModel) -> list[str]:
    """The identifiers of the objects with slot variables: optimizers."""
    nodes = model.model.meta.object_graph_def.nodes
    return sorted({node.user_object.identifier for node in nodes if node.slot_variables})


def _kinds_of_objects(model: CheckedModel) -> list[str]:
    return sorted({node.WhichOneof("kind") or "" for node in model.model.meta.object_graph_def.nodes})


def _kinds_of_values(model: CheckedModel) -> list[str]:
    """The kinds of values that the signatures of all functions have."""
    graph = model.model.meta.object_graph_def
    kinds: set[str] = set()
    stack = [
        v
        for f in graph.concrete_functions.values()
        for v in (f.canonicalized_input_signature, f.output_signature)
    ]
    for node in graph.nodes:
        if (of := node.WhichOneof("kind")) in ("function", "bare_concrete_function"):
            spec = getattr(node, of).function_spec
            stack += [spec.fullargspec, spec.input_signature]
    while stack:
        value = stack.pop()
        kind = value.WhichOneof("kind")
        if kind is not None:
            kinds.add(kind)
            stack += _inside(value, kind)
    return sorted(kinds)


def _inside(value: pb.StructuredValue, kind: str) -> list[pb.StructuredValue]:
    if kind in ("list_value", "tuple_value"):
        return list(getattr(value, kind).values)
    if kind == "dict_value":
        return list(value.dict_value.fields.values())
    if kind == "named_tuple_value":
        return [pair.value for pair in value.named_tuple_value.values]
    return [value.type_spec_value.type_state] if kind == "type_spec_value" else []


@check
def collections_and_signatures_fit_python(
    model: CheckedModel, target: Target, loader: Loader
) -> Iterator[Finding]:
    if model.model.format is not SAVED_MODEL:
        return
    for name, collection in sorted(model.model.meta.collection_def.items()):
        for member in collection.node_list.value:
            if model.model.graph.find(member.partition(":")[0]) is None:
                yield MissingCollectionMember(collection=name, member=member)
    for name, signature in model.model.signatures.items():
        seen: set[str] = set()
        for spec in signature.inputs.values():
            for tensor in spec.tensors:
                if tensor in seen:
                    yield InputNamedTwice(signature=name, tensor=tensor)
                seen.add(tensor)
        if any(spec.form == "sparse" for spec in (*signature.inputs.values(), *signature.outputs.values())):
            yield SparseSignature(signature=name)
