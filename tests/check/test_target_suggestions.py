"""Completion of targets: what people type, and only what reads the format."""

import pytest

from tfport.check.target_suggestions import target_suggestions


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("1.13", "tensorflow==1.13.2"),
        ("tf 1.15", "tensorflow==1.15.5"),
        ("tf", "tensorflow=="),
        ("serving 2.8", "tensorflow-serving==2.8"),
        ("keras 2", "keras==2.15.0"),
        ("tensorflow == 2.8", "tensorflow==2.8.4"),
        ("TF 2.", "tensorflow==2."),
    ],
)
def test_what_people_type_completes(typed, first):
    requirements = [suggestion.requirement for suggestion in target_suggestions(typed)]
    assert any(requirement.startswith(first) for requirement in requirements)
    assert len(requirements) <= 50


@pytest.mark.parametrize(
    ("format_key", "kinds"),
    [
        ("lite", {"tensorflow", "lite", "tfport"}),
        ("keras_h5", {"tensorflow", "keras", "converter", "tfport"}),
        ("graph_def", {"tensorflow", "converter", "tfport"}),
        ("saved_model", {"tensorflow", "keras", "serving", "converter", "tfport"}),
    ],
)
def test_only_targets_that_read_the_format_are_offered(format_key, kinds):
    assert {suggestion.kind for suggestion in target_suggestions("", format_key)} == kinds
