"""TensorFlow loads models that tfport writes, and their answers are unchanged."""

from pathlib import Path

import pytest
from tests.live import answers
from tests.recorded_models import EXPECTED, PROGRAMS, load, of_kind, path_of

import tfport
from tfport.graph.reach import every_node

# a seed of zero is random
RANDOM = {"randomness"}
# functions with list inputs, which `import_graph_def` does not support
LISTS = {"list_arguments"}
# an optimizer that TensorFlow no longer includes, without which `saved_model.load` fails
SLOTS = {"optimizer_slots"}


def saved(name: str, tmp_path: Path) -> Path:
    """Write a model after reading and rewriting every attribute."""
    model = load(name)
    for node in every_node(model.graph):
        assert node.attrs is not None
    tfport.save(model, str(tmp_path / "model"))
    return tmp_path / ("model.meta" if EXPECTED[name]["kind"] == "meta_graph" else "model")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LISTS])
def test_it_loads_and_answers_as_before(name, tmp_path):
    kind = EXPECTED[name]["kind"]
    before = answers.answers(kind, Path(path_of(name)))
    after = answers.answers(kind, saved(name, tmp_path))
    if name == "estimator":  # only the MetaGraph for serving was loaded and saved
        before = {key: answer for key, answer in before.items() if "serve" in key}
    if name in RANDOM:
        assert before.keys() == after.keys()
    else:
        answers.assert_same(after, before)


OBJECTS = [name for name in of_kind("saved_model") if EXPECTED[name]["objects"] and name not in SLOTS]


@pytest.mark.parametrize("name", OBJECTS)
def test_its_objects_load_and_answer_as_before(name, tmp_path):
    before = answers.of_objects(answers.facts.newest_version(Path(path_of(name))))
    answers.assert_same(answers.of_objects(saved(name, tmp_path)), before)
