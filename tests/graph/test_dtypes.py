import numpy as np
import pytest
from tests.recorded_models import EXPECTED

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import BOOL, FLOAT32, INT64, INVALID, RESOURCE, STRING, VARIANT, DType

NUMBERS = sorted(pb.DataType.values())

NAMES = [  # number, ours, TensorFlow's
    (1, "float32", "DT_FLOAT"),
    (2, "float64", "DT_DOUBLE"),
    (19, "float16", "DT_HALF"),
    (14, "bfloat16", "DT_BFLOAT16"),
    (12, "quint8", "DT_QUINT8"),
    (101, "float32_ref", "DT_FLOAT_REF"),
    (119, "float16_ref", "DT_HALF_REF"),
]


@pytest.mark.parametrize(("number", "name", "tf"), NAMES)
def test_a_type_has_a_name_in_tfport_and_in_tensorflow(number, name, tf):
    assert (DType.of(number).name, DType.of(number).tf, str(DType.of(number))) == (name, tf, name)
    assert DType.parse(name) == DType.parse(tf) == DType.of(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_type_is_found_by_each_of_its_names(number):
    dtype = DType.of(number)
    assert DType.parse(dtype.name) is DType.parse(dtype.tf) is dtype


def test_the_names_are_those_of_tensorflow():
    tensors = EXPECTED["checkpoint_of_every_dtype"]["variables"]
    assert {DType.parse(t["dtype"]).name for t in tensors.values()} == {t["dtype"] for t in tensors.values()}


def test_an_unknown_number_is_its_own_name():
    strange = DType.of(999)
    assert (strange.name, strange.tf, strange == DType.parse("type999")) == ("type999", "999", True)
    with pytest.raises(KeyError):
        DType.parse("float33")
    with pytest.raises(KeyError):
        DType.parse("typewriter")


@pytest.mark.parametrize("number", [n for n in NUMBERS if 0 < n < 100])
def test_a_reference_refers_to_its_base(number):
    base = DType.of(number)
    assert base.ref.is_ref
    assert not base.is_ref
    assert base.ref.base is base
    assert base.base is base
    assert base.ref.ref == base.ref


FAMILIES = [
    ("is_integer", "int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64"),
    ("is_floating", "float4_e2m1fn float8_e4m3fn float8_e5m2 bfloat16 float16 float32 float64"),
    ("is_complex", "complex64 complex128"),
    ("is_quantized", "qint8 quint8 qint16 quint16 qint32"),
]


@pytest.mark.parametrize(("family", "members"), FAMILIES)
def test_a_type_belongs_to_one_family_at_most(family, members):
    for name in members.split():
        for member in (DType.parse(name), DType.parse(name).ref):
            assert [f for f, _ in FAMILIES if getattr(member, f)] == [family]
    for other in (BOOL, STRING, RESOURCE, VARIANT, INVALID):
        assert not getattr(other, family)


def test_types_with_elements_have_a_numpy_type():
    assert FLOAT32.numpy == np.float32
    assert INT64.ref.numpy == np.int64
    assert STRING.numpy.hasobject
    with pytest.raises(KeyError):
        RESOURCE.numpy  # noqa: B018


def test_equal_numbers_are_equal_types():
    assert DType.of(998) == DType.of(998) != DType.of(999)
    assert len({DType.of(998), DType.of(998), FLOAT32, FLOAT32.ref}) == 3
    assert FLOAT32 != 1
