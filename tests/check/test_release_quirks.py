"""Facts about releases that no registry has."""

from itertools import permutations

from tfport.check.release_quirks import newer_types
from tfport.graph.dtypes import DType

INT4, UINT4 = DType.parse("int4"), DType.parse("uint4")
ATTRS = {"dtype": INT4, "value": INT4, "Tout": [UINT4, DType.parse("float32"), INT4]}


def test_types_that_not_every_release_has_come_in_one_order():
    for names in permutations(ATTRS):
        newer = list(newer_types({name: ATTRS[name] for name in names}))
        assert newer == [("Tout", UINT4), ("Tout", INT4), ("dtype", INT4), ("value", INT4)]
