"""The search for garbage is paused while a model is loaded and planned, and only then."""

import gc
from pathlib import Path

import pytest

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.formats.find import find_model
from tfport.garbage import no_search_for_garbage
from tfport.graph.load import load_model

ATTENTION = str(Path(__file__).parents[1] / "examples/attention")


def load():
    location, definitions = find_model(ATTENTION), known_ops()
    return lambda: load_model(location, definitions)


def plan():
    session = tfport.Session(ATTENTION)
    return lambda: session.prepare("serving_default")


@pytest.fixture
def searches():
    """The searches for garbage so far."""
    assert gc.isenabled()
    counted = []
    gc.callbacks.append(note := lambda phase, info: counted.append(phase) if phase == "start" else None)
    yield counted
    gc.callbacks.remove(note)


def test_it_is_enabled_again_also_after_an_error():
    with pytest.raises(ZeroDivisionError), no_search_for_garbage():
        1 / int(gc.isenabled())
    assert gc.isenabled()


def test_it_stays_disabled_for_a_caller_that_disabled_it():
    gc.disable()
    try:
        with no_search_for_garbage():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("make", [load, plan], ids=["loading", "planning"])
def test_a_model_is_loaded_and_planned_without_a_search(make, searches):
    make()()  # imports modules and reads the definitions of ops
    work = make()
    before = gc.get_threshold()
    gc.set_threshold(100)
    try:
        gc.collect()
        searches.clear()
        work()
    finally:
        gc.set_threshold(*before)
    assert len(searches) <= 2  # due when tracing and compiling are done
