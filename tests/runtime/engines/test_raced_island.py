"""When an island races, what it does with the choice, and who answers odd inputs."""

import numpy as np

from tfport.errors import DeadlineExceeded, Error
from tfport.runtime.engines.choice_cache import Choice, ChoiceCache
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.raced_island import RacedIsland
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.onnx.island_work import UNKNOWN_WORK, IslandWork

USUAL, SINGLE, OTHER = Choice("onnxruntime", 2), Choice("onnxruntime", 1), Choice("openvino", 2)
X = np.float32([1, 2])
NEVER = 1e9


class Contenders:
    """Engines that note which of them answered."""

    def __init__(self, failures=(), offsets=()):
        self.log, self.failures, self.offsets = [], dict(failures), dict(offsets)

    def compile(self, choice, _sizes):
        self.log.append(("compile", choice))

        def run(arrays):
            self.log.append(choice)
            if choice in self.failures:
                raise self.failures[choice]
            return [arrays[0] + self.offsets.get(choice, 1)]

        return run


def island(contenders, rivals, choices, *, patience=NEVER, work=UNKNOWN_WORK):
    return RacedIsland(
        contenders.compile,
        USUAL,
        lambda sizes: f"key:{list(sizes)}",
        lambda _sizes: rivals,
        choices,
        work,
        are_ordinary,
        patience,
    )


def remembered(choice, shape=(2,)):
    cache = ChoiceCache(None)
    cache.put(f"key:{[shape]}", choice)
    return cache


def test_the_first_call_compiles_nothing_else():
    contenders = Contenders()
    run = island(contenders, [OTHER], remembered(OTHER), patience=0)
    assert run([X])[0].tolist() == [2, 3]
    assert contenders.log == [("compile", USUAL), USUAL]


def test_a_remembered_choice_is_used_after_the_second_call():
    contenders = Contenders()
    run = island(contenders, [SINGLE, OTHER], remembered(OTHER))
    for _ in range(4):
        assert run([X])[0].tolist() == [2, 3]
    assert contenders.log == [("compile", USUAL), USUAL, USUAL, ("compile", OTHER), OTHER, OTHER, OTHER]


def test_a_remembered_choice_that_answers_otherwise_is_not_used():
    contenders = Contenders(offsets={OTHER: 2})
    run = island(contenders, [OTHER], remembered(OTHER))
    for _ in range(4):
        assert run([X])[0].tolist() == [2, 3]
    assert contenders.log.count(OTHER) == 1


def test_fewer_threads_replace_the_usual_ones():
    contenders = Contenders()
    run = island(contenders, [SINGLE], remembered(SINGLE))
    for _ in range(3):
        run([X])
    run([np.float32([np.nan])])
    assert contenders.log[3:] == [("compile", SINGLE), SINGLE, SINGLE, SINGLE]


def test_a_race_decides_and_is_remembered():
    contenders, choices = Contenders(), ChoiceCache(None)
    run = island(contenders, [SINGLE, OTHER], choices, patience=0)
    run([X])
    assert contenders.log == [("compile", USUAL), USUAL]
    run([X])
    assert choices.get("key:[(2,)]") in (USUAL, SINGLE, OTHER)
    raced = len(contenders.log)
    for _ in range(3):
        run([X])
    assert [entry for entry in contenders.log[raced:] if entry[0] == "compile"] == []


def test_what_a_race_frees_is_returned_once(monkeypatch):
    log = []
    monkeypatch.setattr(
        "tfport.runtime.engines.raced_island.return_freed_memory", lambda: log.append("freed")
    )
    run = island(Contenders(), [OTHER], ChoiceCache(None), patience=0)
    for _ in range(4):
        run([X])
    assert log == ["freed"]


def test_there_is_no_race_before_it_pays():
    contenders = Contenders()
    run = island(contenders, [OTHER], ChoiceCache(None))
    for _ in range(10):
        run([X])
    assert ("compile", OTHER) not in contenders.log


def test_a_light_island_does_not_race():
    contenders = Contenders()
    run = island(contenders, [OTHER], remembered(OTHER), patience=0, work=IslandWork(10, 2))
    for _ in range(5):
        run([X])
    assert set(contenders.log) == {("compile", USUAL), USUAL}


def test_onnx_runtime_answers_odd_inputs_and_is_loaded_again_for_them():
    contenders = Contenders()
    run = island(contenders, [OTHER], remembered(OTHER))
    for _ in range(3):
        run([X])
    before = len(contenders.log)
    run([np.float32([np.nan, 1])])
    run([np.float32([])])
    run([np.float32([1, 2, 3])])
    run([X])
    assert contenders.log[before:] == [("compile", USUAL), USUAL, USUAL, USUAL, OTHER]


def test_onnx_runtime_answers_what_openvino_refuses():
    contenders = Contenders()
    run = island(contenders, [OTHER], remembered(OTHER))
    for _ in range(2):
        run([X])
    contenders.failures[OTHER] = EngineFailed("no")
    assert run([X])[0].tolist() == [2, 3]
    assert contenders.log[-3:] == [OTHER, ("compile", USUAL), USUAL]


def test_a_choice_of_another_island_is_not_used():
    contenders = Contenders()
    run = island(contenders, [SINGLE], remembered(OTHER))
    for _ in range(4):
        run([X])
    assert ("compile", OTHER) not in contenders.log


def test_a_remembered_engine_that_cannot_be_loaded_is_not_tried_again():
    contenders = Contenders()
    compiled = contenders.compile

    def only_usual(choice, sizes):
        compiled(choice, sizes)
        if choice == OTHER:
            raise Error("not installed")
        return compiled(choice, sizes)

    contenders.compile = only_usual
    run = island(contenders, [OTHER], remembered(OTHER))
    for _ in range(4):
        assert run([X])[0].tolist() == [2, 3]
    assert contenders.log.count(("compile", OTHER)) == 1


def test_a_race_that_is_stopped_gives_the_answer_and_decides_nothing():
    contenders, choices = Contenders({OTHER: DeadlineExceeded("late")}), ChoiceCache(None)
    run = island(contenders, [OTHER], choices, patience=0)
    for _ in range(3):
        assert run([X])[0].tolist() == [2, 3]
    assert choices.get("key:[(2,)]") is None
