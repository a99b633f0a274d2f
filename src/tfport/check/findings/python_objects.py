"""Can a loader choose the MetaGraph, and can Python make the objects of a model again? Findings 04x."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.keras_loader import keras_findings
from tfport.check.loaders import CAPI, KERAS, RUNTIME, SERVING, Way, has_objects
from tfport.check.release_quirks import since
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model

SERVE = ("serve",)
KERAS_2 = ("optimizer", "experimentalOptimizer")
"""The kinds of optimizers that Keras 2 makes again."""
NEWER_VALUES = {"tensor_value": "2.13", "numpy_value": "2.14", "bounded_tensor_spec_value": "2.3"}
"""Kinds of values in the signatures of functions, and the first release that knows each."""
NEWER_OBJECTS = {"captured_tensor": "2.6"}
"""Kinds of objects, and the first release that knows each."""


@finding("TFP041", "no-serving-graph")
class NoServingGraph(Finding):
    """no MetaGraph has exactly the tags {{serve}}; there is {there}

    ## Cause
    A SavedModel may hold several graphs, told apart by their tags. A loader takes the one
    with exactly the tags that it asks for: TensorFlow Serving asks for `serve`.
    ## Fix
    Export with the tag `serve`, or tell the loader the tags (`--tags` here,
    `--saved_model_tags` for the server).
    """

    there: str

    def says(self) -> str:
        return "Could not find meta graph def matching supplied tags: { serve }."


@finding("TFP042", "several-graphs")
class SeveralGraphs(Finding):
    """the model has {count} MetaGraphs, and Python must be told the tags of one

    ## Cause
    `tf.saved_model.load(path)` takes a model with one graph only.
    ## Fix
    `tf.saved_model.load(path, tags=["serve"])`, and `--tags serve` here.
    """

    count: int

    def says(self) -> str:
        return (
            "Importing a SavedModel with `tf.saved_model.load` requires a `tags=` argument if there is more "
            "than one MetaGraph."
        )


@finding("TFP043", "optimizer-of-another-keras")
class OptimizerOfAnotherKeras(Finding):
    """the model was saved with the state of an optimizer, which {target} cannot make again

    ## Cause
    The model was saved after training, with slot variables of its optimizer. Python makes
    such an optimizer again by the name of its kind; from 2.16 on TensorFlow brings Keras 3,
    and without `tf_keras` nothing there knows the kind that Keras 2 wrote. Serving is not
    concerned: it makes no objects.
    ## Fix
    `pip install tf_keras` and import it before loading; or save the model again without its
    optimizer (`model.save(path, include_optimizer=False)`), or with `model.export(path)`.
    """

    identifier: str

    def cause(self) -> str:
        return f"its kind is `{self.identifier}`"

    def says(self) -> str:
        return "'_UserObject' object has no attribute 'add_slot'"

    def fixes(self) -> list[str]:
        return ["pip install tf_keras, and import it before the model is loaded"]


@finding("TFP044", "newer-argument")
class NewerArgument(Finding):
    """a function of the model has an argument that {target} cannot read: a {kind}

    ## Cause
    The signature of a function, or one of its defaults, is of a kind that came with a later
    release. Only Python reads it.
    ## Fix
    Use that release, or export again without such an argument or default.
    """

    kind: str

    def says(self) -> str:
        return "No encoder for object of type <class 'tensorflow.core.protobuf.struct_pb2.StructuredValue'>."


@finding("TFP045", "missing-collection-member")
class MissingCollectionMember(Finding):
    """collection `{collection}` names `{member}`, which is not in the graph

    ## Cause
    The graph was cut or edited after the collection was written. Only Python looks.
    ## Fix
    Export the model again, or take the collection out.
    """

    collection: str
    member: str

    def says(self) -> str:
        return f"The name '{self.member}' refers to a Tensor which does not exist."


@finding("TFP046", "newer-object")
class NewerObject(Finding):
    """an object of the model is a {kind}, which {target} cannot make

    ## Cause
    The kind of object came with a later release. Only Python makes objects again.
    ## Fix
    Use that release; TensorFlow Serving and the C API do not mind.
    """

    kind: str

    def says(self) -> str:
        return "Unknown SavedObject type: None"


@finding("TFP047", "input-named-twice")
class InputNamedTwice(Finding):
    """two inputs of signature {signature} name the tensor `{tensor}`, which Python cannot load

    ## Cause
    Python makes a function of each signature of a TF1 model, and a function takes each tensor
    once. A session feeds it twice without a word.
    ## Fix
    Export again with one input for the tensor, or load it in a session.
    """

    signature: str
    tensor: str

    def says(self) -> str:
        return f"TF_Output {self.tensor} appears more than once in the input list"


@finding("TFP048", "sparse-signature")
class SparseSignature(Finding):
    """signature {signature} takes or gives a sparse tensor, which Python in {target} cannot load

    ## Cause
    Python in 2.0 asks for one tensor by name for each input of a TF1 model; a sparse one is
    three.
    ## Fix
    Use a later release, or load it in a session.
    """

    signature: str

    def says(self) -> str:
        return "The name '' refers to an Operation not in the graph."


def object_findings(model: Model, kinds: Iterable[str], target: Target, way: Way) -> Iterator[Finding]:
    """What a loader finds when it chooses a graph and makes the objects of a model; all of it at load."""
    if model.format is not SAVED_MODEL:
        return
    takes_any = way.loader not in (CAPI, SERVING, RUNTIME) and (since(target, "2.0") or way.loader == KERAS)
    if not model.asked_tags and not takes_any and SERVE not in model.tag_sets:
        there = " and ".join("{" + ", ".join(tags) + "}" for tags in model.tag_sets)
        yield NoServingGraph(on=target, there=there)
    if not model.asked_tags and takes_any and len(model.tag_sets) > 1:
        yield SeveralGraphs(on=target, count=len(model.tag_sets))
    if way.loader in (CAPI, SERVING, RUNTIME):
        return
    if way.loader == KERAS:
        yield from keras_findings(model, target)
    if takes_any and has_objects(model):
        yield from _objects(model, kinds, target, keras=way.loader == KERAS)
    else:
        yield from _collections(model, target)
        if since(target, "2.0"):
            yield from _named_twice(model, target)
            yield from _sparse(model, target) if not since(target, "2.1") else ()


def _objects(model: Model, kinds: Iterable[str], target: Target, *, keras: bool) -> Iterator[Finding]:
    graph = model.meta.object_graph_def
    # 2.6 and 2.7 only know what Keras makes once Keras is imported
    without_keras = since(target, "2.16") or (since(target, "2.6") and not since(target, "2.8") and not keras)
    made_again = ("tf_deprecated_optimizer", *(() if without_keras else KERAS_2))
    with_slots = {node.user_object.identifier for node in graph.nodes if node.slot_variables}
    for identifier in sorted(with_slots - set(made_again)):
        yield OptimizerOfAnotherKeras(on=target, identifier=identifier)
    there = {node.WhichOneof("kind") or "" for node in graph.nodes}
    for kind in sorted(there & set(NEWER_OBJECTS)):
        if not since(target, NEWER_OBJECTS[kind]):
            yield NewerObject(on=target, kind=kind.replace("_", " "))
    for kind in kinds:
        if kind in NEWER_VALUES and not since(target, NEWER_VALUES[kind]):
            yield NewerArgument(on=target, kind=kind.removesuffix("_value").replace("_", " "))


def kinds_of_values(graph: pb.SavedObjectGraph) -> set[str]:
    """The kinds of values that the signatures of all functions have."""
    found: set[str] = set()
    stack = [
        v
        for f in graph.concrete_functions.values()
        for v in (f.canonicalized_input_signature, f.output_signature)
    ]
    for node in graph.nodes:
        for spec in (node.function.function_spec, node.bare_concrete_function.function_spec):
            stack += [spec.fullargspec, spec.input_signature]
    while stack:
        value = stack.pop()
        kind = value.WhichOneof("kind")
        if kind is not None:
            found.add(kind)
            stack += _inside(value, kind)
    return found


def _inside(value: pb.StructuredValue, kind: str) -> list[pb.StructuredValue]:
    if kind in ("list_value", "tuple_value"):
        return list(getattr(value, kind).values)
    if kind == "dict_value":
        return list(value.dict_value.fields.values())
    if kind == "named_tuple_value":
        return [pair.value for pair in value.named_tuple_value.values]
    return [value.type_spec_value.type_state] if kind == "type_spec_value" else []


def _collections(model: Model, target: Target) -> Iterator[Finding]:
    for name, collection in sorted(model.meta.collection_def.items()):
        for member in collection.node_list.value:
            if model.graph.find(member.partition(":")[0]) is None:
                yield MissingCollectionMember(on=target, collection=name, member=member)


def _named_twice(model: Model, target: Target) -> Iterator[Finding]:
    for name, signature in model.signatures.items():
        seen: set[str] = set()
        for spec in signature.inputs.values():
            for tensor in spec.tensors:
                if tensor in seen:
                    yield InputNamedTwice(on=target, signature=name, tensor=tensor)
                seen.add(tensor)


def _sparse(model: Model, target: Target) -> Iterator[Finding]:
    for name, signature in model.signatures.items():
        if any(spec.form == "sparse" for spec in (*signature.inputs.values(), *signature.outputs.values())):
            yield SparseSignature(on=target, signature=name)
