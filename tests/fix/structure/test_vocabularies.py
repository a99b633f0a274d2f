"""Tables from vocabulary files, filled from constants instead: the same lookups without the file."""

import numpy as np
import pytest
from tests.recorded_models import load

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.options import FixOptions
from tfport.fix.structure import vocabularies
from tfport.fix.structure.tables import TableRefusal
from tfport.fix.structure.vocabularies import files_to_constants

NEWEST = resolve_targets("tensorflow==2.21.0")[0]
WORDS = [["river", "rises", "nowhere"]]


def test_the_same_words_are_found():
    model = tfport.load("examples/attention")
    (changed,) = files_to_constants(model)
    assert changed[1] == "InitializeTableV2"
    model.meta.collection_def["saved_model_assets"].Clear()
    model.meta.ClearField("asset_file_def")
    before = tfport.Session("examples/attention").signature("serving_default")(words=WORDS)
    after = tfport.Session(model).signature("serving_default")(words=WORDS)
    assert np.array_equal(before["scores"], after["scores"])


def test_a_file_that_is_too_large_stays(monkeypatch):
    monkeypatch.setattr(vocabularies, "MOST_BYTES", 10)
    model = tfport.load("examples/attention")
    with pytest.raises(TableRefusal, match="larger than 10 bytes"):
        files_to_constants(model)
    assert any(node.op == "InitializeTableFromTextFileV2" for node in model.graph)


def test_a_file_that_is_not_the_models_stays():
    model = attempt(load("table_from_file"), NEWEST, ModelForm.SESSION, FixOptions()).model
    model.meta.collection_def["saved_model_assets"].Clear()
    model.meta.ClearField("asset_file_def")
    with pytest.raises(TableRefusal, match="not part of the model"):
        files_to_constants(model)
