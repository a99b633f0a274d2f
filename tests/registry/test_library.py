"""What a library registers is read from its code."""

from pathlib import Path

import pytest

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.op_spec import definition, registration_errors
from tfport.registry.library import library_source

FOLDER = Path(__file__).parents[1] / "libraries"


def source(case):
    return library_source(FOLDER / case / "op.so")


def test_an_op_with_its_definition_and_its_kernel():
    library = source("good")
    assert library.ops() == ["AcmeCopy"]
    assert library.is_whole("AcmeCopy")
    assert not library.partial
    made = library.definition("AcmeCopy")
    assert [(a.name, a.type) for a in made.input_arg] == [("x", pb.DT_FLOAT)]
    assert [(a.name, a.type) for a in made.output_arg] == [("y", pb.DT_FLOAT)]
    (kernel,) = library.kernels("AcmeCopy")
    assert (kernel.device, kernel.constraints, kernel.label) == ("CPU", {}, "")


KERNELS = {  # case: device, constraints and label of its kernels
    "op_without_kernel": [],
    "kernel_for_gpu_only": [("GPU", {}, "")],
    "kernel_with_label": [("CPU", {}, "acme")],
    "c_api": [("CPU", {}, "")],
    "c_api_of_plugins": [],
    "old_abi": [("CPU", {}, "")],
    "for_2_8_4": [("CPU", {}, "")],
    "for_1_15_5": [("CPU", {}, "")],
}


@pytest.mark.parametrize(("case", "wanted"), KERNELS.items())
def test_kernels_with_device_types_and_label(case, wanted):
    kernels = [(k.device, k.constraints, k.label) for k in source(case).kernels("AcmeCopy")]
    assert kernels == wanted


def test_the_types_of_a_kernel():
    kernels = source("kernels_for_other_types").kernels("AcmeTypedCopy")
    assert "float32" not in {
        t.name for kernel in kernels for types in kernel.constraints.values() for t in types
    }
    assert all(kernel.constraints for kernel in kernels)


def test_functions_that_nothing_calls_are_listed():
    assert source("c_api_of_plugins").registered.uncalled == {"TF_InitKernel": ["AcmeCopy"]}
    assert source("c_api_uncalled").registered.uncalled == {"acme_register": ["AcmeCopy"]}
    assert source("c_api_uncalled").ops() == []


def test_an_op_that_is_registered_twice():
    assert source("registered_twice").registered.twice == ["AcmeCopy"]


@pytest.mark.parametrize("case", ["lfs_pointer", "zeros", "bits_32", "missing"])
def test_a_file_that_is_not_a_library_is_an_error(case):
    with pytest.raises(UnreadableFile, match=case):
        source(case)


SPECS = [  # attribute, type, minimum, default, allowed values
    ("T: type", "type", None, None, []),
    ("T: {float, int32} = DT_FLOAT", "type", None, ("type", pb.DT_FLOAT), [pb.DT_FLOAT, pb.DT_INT32]),
    ("N: int >= 2", "int", 2, None, []),
    ("N: int >= 1 = 3", "int", 1, ("i", 3), []),
    ("Ts: list(type) >= 0", "list(type)", 0, None, []),
    ("mode: {'a', 'b'} = 'a'", "string", None, ("s", b"a"), [b"a", b"b"]),
    ("eps: float = 0.5", "float", None, ("f", 0.5), []),
    ("on: bool = false", "bool", None, ("b", False), []),
    ("Tin: list({int32, string})", "list(type)", None, None, [pb.DT_INT32, pb.DT_STRING]),
]


@pytest.mark.parametrize(("text", "kind", "minimum", "default", "allowed"), SPECS)
def test_the_text_of_an_attribute(text, kind, minimum, default, allowed):
    (attr,) = definition("Op", attrs=[text]).attr
    assert attr.type == kind
    assert (attr.minimum if attr.has_minimum else None) == minimum
    field = attr.default_value.WhichOneof("value")
    assert (field and (field, getattr(attr.default_value, field))) == default
    assert [*attr.allowed_values.list.type, *attr.allowed_values.list.s] == allowed


def test_the_text_of_an_argument():
    made = definition(
        "Op", ["T: type", "N: int", "Ts: list(type)"], ["a: T", "b: N * T", "c: Ts", "d: Ref(T)"]
    )
    arguments = [(a.name, a.type_attr, a.number_attr, a.type_list_attr, a.is_ref) for a in made.input_arg]
    assert arguments == [
        ("a", "T", "", "", False),
        ("b", "T", "N", "", False),
        ("c", "", "", "Ts", False),
        ("d", "T", "", "", True),
    ]


def test_texts_that_tensorflow_rejects():
    assert registration_errors("acme", [], [], []) == ["Invalid name: acme (Did you use CamelCase?)"]
    assert registration_errors("Acme", [], ["x: T"], []) == [
        "Reference to unknown attr 'T' from Input(\"x: T\") for Op Acme"
    ]
    assert registration_errors("Acme>Copy", ["T: type"], ["x: T"], ["y: float"]) == []
    for text in ("T", "T: nothing", "T: int = x", "T: {}x"):
        with pytest.raises((ValueError, SyntaxError)):
            definition("Op", attrs=[text])
