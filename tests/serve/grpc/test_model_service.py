"""GetModelStatus, GetModelMetadata and HandleReloadConfigRequest over a real port."""

from __future__ import annotations

import pytest
from tests.serve.grpc.server import Port, with_port

from tfport.formats.proto import serving_api_pb2 as pb
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.model_catalog import VersionState, VersionStatus
from tfport.serve.status import StatusCode

BAD, NONE = StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND
STATUSES = [  # model spec    versions and states in the response
    ({"name": "half"}, [(2, "AVAILABLE", 0, ""), (1, "AVAILABLE", 0, "")]),
    ({"name": "half", "version": {"value": 1}}, [(1, "AVAILABLE", 0, "")]),
    ({"name": "half", "version_label": "stable"}, [(1, "AVAILABLE", 0, "")]),
    ({"name": "broken"}, [(3, "END", 2, "the file is cut off")]),
]


@pytest.mark.parametrize(("spec", "expected"), STATUSES, ids=str)
def test_the_status_of_versions(spec, expected):
    async def test(port: Port) -> None:
        answer = await port.ask("GetModelStatus", {"model_spec": spec})
        versions = [
            (
                v.version,
                pb.ModelVersionStatus.State.Name(v.state),
                v.status.error_code,
                v.status.error_message,
            )
            for v in answer.model_version_status
        ]
        assert versions == expected

    with_port(test)


@pytest.mark.parametrize("state", VersionState, ids=lambda state: state.name)
def test_every_state_has_its_number(state):
    async def test(port: Port) -> None:
        port.catalog.set_status("new", VersionStatus(1, state))
        answer = await port.ask("GetModelStatus", {"model_spec": {"name": "new"}})
        assert pb.ModelVersionStatus.State.Name(answer.model_version_status[0].state) == state.name

    with_port(test)


def test_signatures_are_returned_as_stored_in_the_file():
    async def test(port: Port) -> None:
        asked = {"model_spec": {"name": "half"}, "metadata_field": ["signature_def"]}
        answer = await port.ask("GetModelMetadata", asked)
        spec = answer.model_spec
        assert (spec.name, spec.version.value, spec.signature_name) == ("half", 2, "")
        packed = answer.metadata["signature_def"]
        assert packed.type_url == "type.googleapis.com/tensorflow.serving.SignatureDefMap"
        signatures = pb.SignatureDefMap.FromString(packed.value)
        assert signatures.signature_def == port.catalog.get("half").model.meta.signature_def

    with_port(test)


def config(path: str) -> dict[str, object]:
    return {"config": {"model_config_list": {"config": [{"name": "half", "base_path": path}]}}}


def test_a_configuration_is_handed_on():
    values = iter([3, 10])

    async def test(port: Port) -> None:
        request = pb.ReloadConfigRequest(**config("/models"), metric_names=["/loads"])
        answer = await port.ask("HandleReloadConfigRequest", request.SerializeToString())
        assert [reload.model_config_list.config[0].base_path for reload in port.reloads] == ["/models"]
        assert answer.HasField("status")
        assert answer.status.error_code == 0
        assert [(m.name, m.int64_value_increase) for m in answer.metric] == [("/loads", 7)]

    with_port(test, GrpcOptions(metric=lambda name: next(values)))


METADATA = ["signature_def"]
NO_LIST = (
    "ServerModelConfig type not supported by HandleReloadConfigRequest."
    " Only ModelConfigList is currently supported"
)
REFUSED = [
    ("GetModelStatus", {}, BAD, "Missing ModelSpec"),
    ("GetModelStatus", {"model_spec": {"name": "x"}}, NONE, "Could not find any versions of model x"),
    (
        "GetModelStatus",
        {"model_spec": {"name": "half", "version": {"value": 9}}},
        NONE,
        "Could not find version 9 of model half",
    ),
    ("GetModelMetadata", {}, BAD, "Missing ModelSpec"),
    (
        "GetModelMetadata",
        {"model_spec": {"name": "half"}},
        BAD,
        "GetModelMetadataRequest must specify at least one metadata_field",
    ),
    (
        "GetModelMetadata",
        {"model_spec": {"name": "half"}, "metadata_field": ["signature_def", "x"]},
        BAD,
        "Metadata field x is not supported",
    ),
    (
        "GetModelMetadata",
        {"model_spec": {}, "metadata_field": METADATA},
        BAD,
        "ModelSpec has no name specified.",
    ),
    (
        "GetModelMetadata",
        {"model_spec": {"name": "x"}, "metadata_field": METADATA},
        NONE,
        "Servable not found for request: Latest(x)",
    ),
    ("HandleReloadConfigRequest", {}, BAD, NO_LIST),
    ("HandleReloadConfigRequest", {"config": {"custom_model_config": {}}}, BAD, NO_LIST),
    ("HandleReloadConfigRequest", config(""), BAD, "Expected model half to have a path"),
]


def test_bad_metadata_requests_are_rejected_with_a_message():
    async def test(port: Port) -> None:
        for name, request, code, message in REFUSED:
            assert await port.refusal(name, request) == (code, message)

    with_port(test)
