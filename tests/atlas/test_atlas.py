"""The recorded builds, compared with numbers that were measured independently."""

from pathlib import Path

import pytest

from tfport.atlas import atlas as atlas_module
from tfport.atlas.atlas import ARM, TENSORFLOWS, Atlas, atlas
from tfport.atlas.versions import version_key
from tfport.errors import Error
from tfport.graph.dtypes import DType

MEASURED = [  # package, release, ops, kernels for CPU and for GPU
    ("tensorflow", "1.0.0", 622, 3174, 288),
    ("tensorflow", "1.2.1", 693, 3420, 301),
    ("tensorflow", "1.4.1", 793, 3871, 371),
    ("tensorflow", "1.8.0", 999, 5059, 423),
    ("tensorflow", "1.12.3", 1122, 5456, 465),
    ("tensorflow", "1.15.5", 1392, 6420, 461),
    ("tensorflow", "2.0.4", 1385, 6364, 461),
    ("tensorflow", "2.3.4", 1511, 7159, 3482),
    ("tensorflow", "2.5.3", 1738, 8370, 3886),
    ("tensorflow", "2.8.4", 1780, 8635, 3977),
    ("tensorflow", "2.11.1", 1826, 8800, 4364),
    ("tensorflow", "2.13.1", 1856, 9065, 4829),
    ("tensorflow", "2.16.2", 1890, 9263, 4968),
    ("tensorflow", "2.18.1", 1898, 9267, 5013),
    ("tensorflow", "2.20.0", 1908, 9272, 5016),
    ("tensorflow", "2.21.0", 1909, 9274, 5017),
    ("tensorflow-gpu", "1.4.1", 793, 3871, 1979),
    ("tensorflow-gpu", "1.15.5", 1399, 6420, 3148),
]
PRODUCERS = {  # the GraphDef version does not grow with the release
    "1.4.1": 24, "1.8.0": 26, "1.12.3": 27, "1.14.0": 38, "1.15.5": 134, "2.0.4": 119, "2.2.3": 175,
    "2.4.4": 561, "2.6.5": 808, "2.8.4": 987, "2.9.3": 1087, "2.11.1": 1286, "2.13.1": 1482, "2.16.2": 1766,
    "2.19.1": 2129, "2.21.0": 2474,
}  # fmt: skip
PACKAGES = (
    "tensorflow-text tensorflow-addons tensorflow-io tensorflow-decision-forests tensorflow-compression"
)


def source(package, version):
    return atlas().source(atlas().find(package, version))


@pytest.mark.parametrize(("package", "version", "ops", "cpu", "gpu"), MEASURED)
def test_ops_and_kernels_are_as_many_as_the_binary_lists(package, version, ops, cpu, gpu):
    build = source(package, version)
    devices = [
        k.device for (op,) in atlas().rows("SELECT DISTINCT op FROM kernels") for k in build.kernels(op)
    ]
    assert (len(build.ops()), devices.count("CPU"), devices.count("GPU")) == (ops, cpu, gpu)


@pytest.mark.parametrize(("release", "producer"), PRODUCERS.items())
def test_the_graph_def_version_is_the_one_measured(release, producer):
    assert atlas().find("tensorflow", release).facts["graph_def"]["producer"] == producer


def test_a_kernel_has_device_types_and_host_memory():
    kernels = source("tensorflow", "2.8.4").kernels("CudnnRNNV2")
    assert {(k.device, k.constraints["T"], k.host_memory) for k in kernels} == {
        ("GPU", (DType.parse(name),), ("host_reserved",)) for name in ("float16", "float32", "float64")
    }


def test_a_contrib_op_is_registered_only_if_its_library_is_imported():
    build = source("tensorflow", "1.12.3")
    assert build.definition("Resampler") is None
    assert build.providers("Resampler") == ["contrib/resampler/python/ops/_resampler_ops.so"]


def test_an_op_is_queried_once_for_the_libraries_of_all_builds():
    queries: list[str] = []
    own = Atlas(Path(atlas_module.__file__).with_name("atlas.sqlite"))
    builds = own.builds("tensorflow")
    own._database.set_trace_callback(queries.append)
    assert any(own.source(build).providers("Resampler") for build in builds)
    assert len(queries) == 1


def test_kernels_of_different_releases_share_the_types_that_they_allow():
    old, new = (atlas().source(atlas().find("tensorflow", v)) for v in ("1.15.5", "2.21.0"))
    allowed = [source.kernels("TopKV2")[0].constraints["T"] for source in (old, new)]
    assert allowed[0] is allowed[1]


def test_every_op_of_an_add_on_belongs_to_it():
    assert source("tensorflow-text", "2.8.2").definition("CaseFoldUTF8").name == "CaseFoldUTF8"


@pytest.mark.parametrize("package", PACKAGES.split())
def test_add_ons_are_recorded_in_several_versions_or_one(package):
    assert atlas().builds(package), package


def test_builds_are_sorted_oldest_first_and_filtered_by_platform():
    versions = [build.version for build in atlas().builds("tensorflow")]
    assert versions == sorted(versions, key=version_key)
    assert {build.platform for build in atlas().builds("tensorflow", ARM)} == {ARM}
    assert atlas().find("tensorflow", "2.8.99") is None


def test_an_alias_has_the_registry_of_the_original_build():
    gpu, stock = source("tensorflow-gpu", "2.8.4"), source("tensorflow", "2.8.4")
    assert gpu.ops() == stock.ops()
    assert gpu.kernels("MatMul") == stock.kernels("MatMul")


def test_every_build_can_be_traced_to_a_file():
    for build in atlas().builds(platform=None):
        assert build.wheel.endswith(".whl"), build.name
        assert len(build.sha256) == 64, build.name


def test_an_invalid_release_number_is_an_error():
    with pytest.raises(Error, match=r"^'new' is not a release number; expected one such as 2\.8\.4$"):
        atlas().find("tensorflow", "new")


def test_every_tensorflow_requires_packages():
    builds = [build for package in TENSORFLOWS for build in atlas().builds(package, platform=None)]
    assert [build.requirement for build in builds if not build.facts.get("requires")] == []
