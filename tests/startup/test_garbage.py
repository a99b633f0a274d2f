"""The search for garbage is paused while a model is loaded and planned, and only then."""

import gc
import weakref
from pathlib import Path

import pytest

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.formats.find import find_model
from tfport.graph.load import load_model
from tfport.startup import garbage
from tfport.startup.garbage import gc_paused

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")


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
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / int(gc.isenabled())
    assert gc.isenabled()


def test_it_stays_disabled_for_a_caller_that_disabled_it():
    gc.disable()
    try:
        with gc_paused():
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


@pytest.fixture
def nothing_frozen(monkeypatch):
    """`conftest.py` freezes what is imported."""
    monkeypatch.setattr(garbage, "_has_frozen_objects", False)
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_was_made_is_not_searched_next(searches):
    gc.collect()
    searches.clear()
    with gc_paused():
        made = [[i] for i in range(5000)]
    assert not searches
    assert not {id(one) for one in made} & {id(one) for one in gc.get_objects(generation=0)}
    gc.collect()  # but it is searched with all others
    assert searches


@pytest.mark.usefixtures("nothing_frozen")
def test_garbage_in_cycles_is_found_later():
    class Cycle:
        pass

    with gc_paused():
        cycle = Cycle()
        cycle.itself = cycle
        found = weakref.ref(cycle)
        del cycle
    gc.collect()
    assert found() is None


@pytest.mark.usefixtures("nothing_frozen")
def test_what_the_program_froze_stays_frozen_and_is_counted_once(monkeypatch):
    gc.freeze()
    frozen, count, asked = gc.get_freeze_count(), gc.get_freeze_count, []
    monkeypatch.setattr(garbage.gc, "get_freeze_count", lambda: asked.append(None) or count())
    for _ in range(3):
        with gc_paused():
            pass
    assert len(asked) == 1
    assert frozen - 1000 < count() <= frozen  # threads of the test runner may free some; thawing leaves none
    assert frozen > 1000
