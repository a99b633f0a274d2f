"""The difference between two builds, compared with what the real binaries have."""

import pytest

from tfport.atlas.atlas import atlas
from tfport.atlas.diff import diff_registries
from tfport.atlas.kernel_history import kernel_text, merged
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, Selection
from tfport.reports.targets import diff_json


def registry(version, package="tensorflow", selection=None):
    build = atlas().find(package, version)
    return OpRegistry(build.name, [atlas().source(build)], selection)


def diff(before, after):
    return diff_registries(before, after, atlas())


class OneOp:
    """A source that is not from the atlas."""

    name = "mine"

    def __init__(self, *kernels):
        self._kernels = kernels

    def ops(self):
        return ["Mine"]

    def definition(self, op):
        return OpDef(name=op) if op == "Mine" else None

    def kernels(self, op):
        return [k for k in self._kernels if k.op == op]


CONST = Kernel("Const", "CPU")


def test_the_newest_release_added_one_op():
    changes = diff(registry("2.20.0"), registry("2.21.0"))
    assert (changes.added, changes.removed) == (["DecodeJxl"], [])
    assert list(changes.changed) == ["TensorListGetItem"]
    assert {(k.op, k.device) for k in changes.kernels} == {
        ("AssignVariableOp", "CPU"),
        ("AssignVariableOp", "GPU"),
    }
    assert [kernel_text(k) for k in changes.kernels[0].added] == ["dtype=float4_e2m1fn"]


def test_the_reverse_diff_swaps_added_and_removed():
    changes = diff(registry("2.21.0"), registry("2.20.0"))
    assert (changes.added, changes.removed) == ([], ["DecodeJxl"])
    assert changes.changed["TensorListGetItem"] == [
        "input element_shape is int32, was Tshape",
        "attribute Tshape removed",
    ]


def test_ops_removed_after_2_5():
    assert "CompareAndBitpack" in diff(registry("2.5.3"), registry("2.6.0")).removed


def test_a_build_does_not_differ_from_itself():
    assert not diff(registry("2.8.4"), registry("2.8.4"))


def test_since_2_1_the_wheel_has_gpu_kernels():
    changes = diff(registry("2.0.4"), registry("2.1.0"))
    assert sum(len(k.added) for k in changes.kernels if k.device == "GPU") > 2000
    matmul = next(k for k in changes.kernels if (k.op, k.device) == ("MatMul", "GPU"))
    assert {str(v) for kernel in matmul.added for v in kernel.constraints["T"]} >= {"float16", "float32"}


def test_the_diff_agrees_with_a_full_comparison():
    before, after = registry("2.9.3"), registry("2.10.0")
    changes = diff(before, after)
    assert changes.added == sorted(set(after) - set(before))
    assert changes.removed == sorted(set(before) - set(after))
    differ = {op for op in set(before) & set(after) if before[op] != after[op]}
    assert set(changes.changed) <= differ
    differ = {op for op in set(before) & set(after) if before.kernels(op) != after.kernels(op)}
    assert {k.op for k in changes.kernels} == differ


def test_a_reduced_build_lacks_the_ops_that_it_does_not_keep():
    changes = diff(
        registry("2.8.4"), registry("2.8.4", selection=Selection(ops=frozenset({"MatMul", "Const"})))
    )
    assert "HashTableV2" in changes.removed
    assert "MatMul" not in changes.removed
    assert (changes.added, changes.changed, changes.kernels) == ([], {}, [])


def test_a_library_adds_to_a_build():
    base = registry("2.8.4")
    changes = diff(base, OpRegistry("with mine", [*base.sources, OneOp()]))
    assert (changes.added, changes.removed, changes.changed, changes.kernels) == (["Mine"], [], {}, [])


def test_a_kernel_that_moved_an_argument_to_the_host_changed():
    before = OpRegistry("before", [OneOp(CONST, Kernel("Mine", "GPU", {"T": (INT32,)}))])
    after = OpRegistry("after", [OneOp(CONST, Kernel("Mine", "GPU", {"T": (INT32,)}, host_memory=("x",)))])
    (change,) = diff(before, after).kernels
    assert (change.added, change.removed) == ([], [])
    assert change.changed[0].host_memory == ("x",)


def test_unrecorded_kernels_are_not_compared():
    before = OpRegistry("silent", [OneOp()])
    changes = diff(before, OpRegistry("after", [OneOp(CONST, Kernel("Mine", "CPU"))]))
    assert (changes.kernels, changes.kernels_missing) == ([], ["silent"])


def test_the_diff_as_json():
    as_json = diff_json(diff(registry("2.20.0"), registry("2.21.0")))
    assert as_json["version"] == 1
    assert (as_json["before"], as_json["after"]) == ("tensorflow 2.20.0", "tensorflow 2.21.0")
    assert as_json["ops"]["came"] == ["DecodeJxl"]
    assert as_json["kernels"][0]["came"][0]["constraints"] == {"dtype": ["float4_e2m1fn"]}


MERGED = [  # kernels of CPU by their constraints                     in few words
    ([{"T": (FLOAT32,)}, {"T": (INT32,)}],                            ["T=float32, int32"]),
    ([{}, {"T": (INT32,)}],                                           ["any", "T=int32"]),
    ([{"T": (t,), "I": (i,)} for t in (FLOAT32, INT32) for i in (INT32, INT64)],
                                                                      ["T=float32, int32; I=int32, int64"]),
    ([{"T": (FLOAT32,), "I": (INT32,)}, {"T": (INT32,), "I": (INT64,)}],
                                                  ["T=float32; I=int32", "T=int32; I=int64"]),
]  # fmt: skip


@pytest.mark.parametrize(("constraints", "words"), MERGED)
def test_kernels_are_merged_into_short_text(constraints, words):
    assert [kernel_text(k) for k in merged(Kernel("A", "CPU", c) for c in constraints)] == words
