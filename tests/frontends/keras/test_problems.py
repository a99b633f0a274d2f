"""What tfport does not build is listed at once, inside wrappers too."""

from __future__ import annotations

import pytest
from tests.frontends.keras.built_models import built, sequential

from tfport.errors import CannotRun


def of(class_name, **config):
    return {"class_name": class_name, "config": {"name": class_name.lower(), **config}}


CELL = of("LSTMCell", units=2)
LSTM = of("LSTM", units=2, speed=9)
WRAPPED = [
    (
        ("Bidirectional", {"layer": LSTM, "backward_layer": of("Acme")}),
        ["layer `lstm` (LSTM): the option `speed` is unknown", "layer `acme` is of the class `Acme`"],
    ),
    (("TimeDistributed", {"layer": of("TimeDistributed", layer=of("Acme"))}), ["of the class `Acme`"]),
    (
        ("TimeDistributed", {"layer": sequential(("Acme", {}), ("Other", {}), shape=(None, 3))}),
        ["layer `l0` is of the class `Acme`", "layer `l1` is of the class `Other`"],
    ),
    (("SpectralNormalization", {"layer": of("Dense", units=2, power=3)}), ["the option `power` is unknown"]),
    (("RNN", {"cell": of("AcmeCell")}), ["layer `l1` (RNN): its cell is of the class `AcmeCell`, which"]),
    (
        ("RNN", {"cell": of("StackedRNNCells", cells=[CELL, of("AcmeCell"), of("GRUCell", units=2, odd=1)])}),
        ["its cell is of the class `AcmeCell`", "layer `grucell` (GRUCell): the option `odd` is unknown"],
    ),
    (("Merge", {"layers": [sequential(("Acme", {}), shape=(None, 3))]}), ["of the class `Acme`"]),
]


@pytest.mark.parametrize(("layer", "problems"), WRAPPED, ids=lambda value: str(value)[:40])
def test_problems_inside_wrappers_are_listed_with_the_others(layer, problems):
    config = sequential(("First", {}), layer, ("Last", {}), shape=(None, 4, 3))
    with pytest.raises(CannotRun) as raised:
        built(config, {})
    for problem in ["layer `l0` is of the class `First`", *problems, "layer `l2` is of the class `Last`"]:
        assert problem in str(raised.value)


def test_an_option_that_holds_no_layer_is_reported_when_it_is_built():
    with pytest.raises(CannotRun, match=r"^m.h5: layer `l0` is of the class `First`[^;]*;[^;]*$"):
        built(sequential(("First", {}), ("TimeDistributed", {"layer": 5}), shape=(None, 4, 3)), {})
