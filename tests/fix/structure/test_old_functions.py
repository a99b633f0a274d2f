"""For TensorFlow 1.9 to 1.12 functions have nothing on which those sessions end the process."""

import pytest
from tests.truth_models import TRUTH, model_folder

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.findings.functions import loops_lowered_in_calls
from tfport.check.findings.optimizer import unstated_default
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.adapt_to_release import adapt_to_release

CASES = [  # a model of the ground truth, and what changes for 1.12.3
    ("slice_without_masks.partitioned", ["stated defaults"]),
    ("slice_without_masks.called", ["stated defaults"]),
    ("slice_with_masks.partitioned", []),
    ("slice_with_new_axis.partitioned", []),
    ("lowered_loop_in_call", ["loops as they are"]),
    ("lowered_loop_in_function", []),
    ("lowered_loop_in_lowered_branch", ["loops as they are"]),
    ("lowered_loop_in_branch", []),
]


@pytest.mark.parametrize(("name", "changes"), CASES, ids=[name for name, _ in CASES])
def test_functions_are_changed_for_the_releases_that_need_it(name, changes):
    for release, expected in ("1.13.2", []), ("1.12.3", changes):
        model, journal = tfport.load(str(model_folder(TRUTH / "models" / name))), Journal()
        checker = NodeChecker(resolve_targets(f"tensorflow=={release}")[0], 24)
        adapt_to_release(model.graph, checker, Facts(model), journal, ())
        assert [entry.name for entry in journal.entries] == expected
    assert not loops_lowered_in_calls(model.graph)
    nodes = [node for function in model.graph.library.functions.values() for node in function]
    assert not any(map(unstated_default, nodes))
