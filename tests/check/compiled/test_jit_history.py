"""What XLA compiles of an op, by release."""

from tfport.atlas.atlas import atlas
from tfport.atlas.history import op_history
from tfport.check.compiled.jit_history import JitHistory, jit_history


def on_devices(op: str) -> dict[str, JitHistory]:
    history = op_history(atlas(), op)
    assert history is not None
    return {on_device.device: on_device for on_device in jit_history(history)}


def lines(on_device: JitHistory) -> list[tuple[str, tuple[str, ...]]]:
    return [(", ".join(map(str, line.releases)), line.types) for line in on_device.kernels]


def test_the_kernels_of_a_device_are_listed_by_release():
    types = ("float32", "float64", "int32", "int64", "bfloat16", "float16")
    devices = on_devices("Cumsum")
    assert lines(devices["XLA_CPU_JIT"]) == [("2.9.1 to 2.21.0", types)]
    assert lines(devices["XLA_GPU_JIT"]) == [("2.21.0", types)]


def test_types_that_were_added_have_rows_of_their_own():
    first, *later = lines(on_devices("TopKV2")["XLA_CPU_JIT"])
    assert first[0] == "2.9.1 to 2.21.0"
    assert "float32" in first[1]
    assert later == [("2.12.1 to 2.21.0", ("uint8", "int8")), ("2.13.1 to 2.21.0", ("int16",))]


def test_only_releases_with_the_op_count():
    assert str(on_devices("ApproxTopK")["XLA_CPU_JIT"].recorded) == "2.10.1 to 2.21.0"
    assert str(on_devices("Bincount")["XLA_CPU_JIT"].recorded) == "2.9.1 to 2.21.0"  # compiled from 2.10 on


def test_an_op_without_kernels_is_known_not_to_be_compiled():
    on_device = on_devices("StringSplit")["XLA_CPU_JIT"]
    assert (str(on_device.recorded), on_device.kernels) == ("2.9.1 to 2.21.0", [])


def test_nothing_is_said_of_an_op_that_no_recorded_release_has():
    assert on_devices("Resampler") == {}  # of an add-on
