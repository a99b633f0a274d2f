"""Models in TF1's form: one graph, a saver for the needed variables, an init op, no objects."""

import numpy as np
import pytest
from tests.recorded_models import load

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.options import FixOptions
from tfport.graph.inline import CALLS
from tfport.graph.model import MAIN_OP
from tfport.graph.state import assets

TARGET = resolve_targets("tensorflow==2.21.0")[0]


def flat(name, form=ModelForm.SESSION, **options):
    return attempt(load(name), TARGET, form, FixOptions(**options))


@pytest.mark.parametrize(
    "name", ["keras_sequential", "module", "keras_lstm", "table_from_file", "nested_functions"]
)
def test_no_calls_and_no_objects_are_left(name):
    model = flat(name).model
    assert not any(node.op in CALLS for node in model.graph)
    assert not model.meta.HasField("object_graph_def")
    assert set(model.signatures) == set(load(name).signatures)
    for signature in model.signatures.values():
        assert len(model.ends_of(signature)) == sum(len(s.tensors) for s in signature.outputs.values())


def test_the_saver_restores_what_the_signatures_read_and_nothing_else():
    done = flat("optimizer_slots")
    stored = set(load("optimizer_slots").checkpoint.names())
    assert done.keys < stored
    restored = next(node for node in done.model.graph if node.op == "RestoreV2")
    assert len(restored.outputs) == len(done.keys)
    saver = done.model.meta.saver_def
    assert done.model.graph.find(saver.restore_op_name).op == "NoOp"
    assert done.model.graph.value(saver.save_tensor_name).node.op == "Identity"


def test_tables_are_filled_from_the_same_asset():
    model = flat("table_from_file").model
    (first,) = model.meta.collection_def[MAIN_OP].node_list.value
    assert model.graph.find(first) is not None
    assert [(a.file, a.nbytes) for a in assets(model)] == [
        (a.file, a.nbytes) for a in assets(load("table_from_file"))
    ]
    assert len(model.meta.collection_def["saved_model_assets"].any_list.value) == len(
        model.meta.asset_file_def
    )


@pytest.mark.parametrize("form", list(ModelForm))
@pytest.mark.parametrize(
    "name", ["keras_sequential", "keras_functional", "module", "legacy_init", "conditions"]
)
def test_every_form_gives_the_same_answers(form, name):
    before, done = load(name), flat(name, form)
    after = done.model
    if form is ModelForm.TFJS and name == "module":  # its variable changes, which TensorFlow.js cannot do
        assert done.reasons
        return
    signature = before.signatures["serving_default"]
    inputs = {
        key: np.ones([2 if d is None else d for d in spec.shape.dims], spec.dtype.numpy)
        for key, spec in signature.inputs.items()
    }
    expected, other = (tfport.Session(model).signature(signature.name)(**inputs) for model in (before, after))
    assert set(expected) == set(other)
    for key, value in expected.items():
        np.testing.assert_allclose(other[key], value, rtol=1e-6)


def test_frozen_models_have_no_variables_and_no_checkpoint():
    done = flat("keras_functional", ModelForm.FROZEN)
    assert not any(node.op == "VarHandleOp" for node in done.model.graph)
    assert done.keys == set()


def test_variables_that_are_written_stay():
    done = flat("control_outputs", ModelForm.FROZEN)
    assert "to be a variable" in done.reasons[0]
    assert len(done.keys) == len([node for node in done.model.graph if node.op == "VarHandleOp"]) > 0


def test_a_signature_that_gives_back_its_input_does_so_through_a_node():
    model = flat("simple_save", ModelForm.AS_IT_IS).model
    signature = model.signatures["serving_default"]
    fed = {name for spec in signature.inputs.values() for name in spec.tensors}
    answered = {name for spec in signature.outputs.values() for name in spec.tensors}
    assert not fed & answered


def test_only_the_signatures_asked_for_are_kept():
    model = flat("module", signatures=("back",)).model
    assert list(model.signatures) == ["back"]
