"""Configurations: their settings, and the messages for invalid ones."""

from __future__ import annotations

import pytest
from tests.serve.models.exports import config_of, config_text, model

from tfport.errors import UnreadableFile
from tfport.serve.models.config import one_model, parse_config, read_config, settings_of
from tfport.serve.models.policy import AllVersions, LatestVersions, SpecificVersions
from tfport.serve.status import StatusCode, StatusError

POLICIES = [  # text, policy
    ("", LatestVersions(1)),
    ("model_version_policy {}", LatestVersions(1)),
    ("model_version_policy { latest {} }", LatestVersions(1)),
    ("model_version_policy { latest { num_versions: 3 } }", LatestVersions(3)),
    ("model_version_policy { all {} }", AllVersions()),
    ("model_version_policy { specific { versions: 4 versions: 2 } }", SpecificVersions(frozenset({2, 4}))),
]


@pytest.mark.parametrize(("text", "policy"), POLICIES)
def test_policies(text, policy):
    (settings,) = settings_of(config_of(model("m", "/models/m", text)))
    assert (settings.name, settings.base_path, settings.policy) == ("m", "/models/m", policy)


def test_the_limit_of_runs_is_optional():
    limited, other = settings_of(
        config_of(
            model("limited", "/models/m", "max_concurrent_runs: 2 gpu_memory_bytes: 5000000000"),
            model("other", "/models/o"),
        )
    )
    assert (limited.max_concurrent_runs, other.max_concurrent_runs) == (2, 0)
    assert (limited.gpu_memory_bytes, other.gpu_memory_bytes) == (5_000_000_000, 0)


def test_labels_and_logging():
    (settings,) = settings_of(
        config_of(
            model(
                "m",
                "s3://bucket/m",
                'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 } '
                "logging_config { sampling_config { sampling_rate: 0.5 } }",
            )
        )
    )
    assert settings.labels == {"stable": 1, "canary": 2}
    assert settings.logging.sampling_config.sampling_rate == 0.5


def test_one_model_may_have_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (settings,) = settings_of(one_model("m", "models/m"))
    assert settings.base_path == str(tmp_path / "models/m")


REFUSED = [  # models, message
    ([model("m", "/a"), model("m", "/b")], "Illegal to list model m multiple times in config list"),
    (
        [model("m", "models/m")],
        "Expected model m to have an absolute path or URI; got base_path()=models/m",
    ),
    ([model("", "/a")], "the model at base_path `/a` has no name"),
    (
        ['name: "m" base_path: "/a" model_type: TENSORFLOW'],
        "Illegal setting both ModelServerConfig::model_type",
    ),
]


@pytest.mark.parametrize(("models", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_contradicts_itself_is_refused(models, message):
    with pytest.raises(StatusError) as raised:
        settings_of(config_of(*models))
    assert raised.value.code is StatusCode.INVALID_ARGUMENT
    assert message in raised.value.message


PLATFORMS = [  # text, message
    ('model_platform: "tensorflow"', None),
    ("", None),
    ("model_type: TENSORFLOW", None),
    ("model_type: OTHER", "ModelServerConfig::model_type choice 2 not supported."),
    ('model_platform: "torch"', "Model m requests unsupported platform torch"),
]


@pytest.mark.parametrize(("text", "message"), PLATFORMS)
def test_platforms(text, message):
    config = parse_config(f'model_config_list {{ config {{ name: "m" base_path: "/a" {text} }} }}', "f")
    if message is None:
        assert settings_of(config)
        return
    with pytest.raises(StatusError) as raised:
        settings_of(config)
    assert (raised.value.code, raised.value.message) == (StatusCode.INVALID_ARGUMENT, message)


BROKEN = [  # text, message
    ('model_config_list {\n config { nmae: "m" }\n}', 'f, line 2: .*"ModelConfig" has no field named "nmae"'),
    (config_text(model("m", "/a"))[:-1], "f"),
    (config_text(model("m", "/a"))[:40], "f"),
    ("model_config_list { config { name: 7 } }", "f, line 1"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_parse_error_names_its_line(text, message):
    with pytest.raises(UnreadableFile, match=message):
        parse_config(text, "f")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UnreadableFile, match="no such file"):
        read_config(str(tmp_path / "none"))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableFile, match="byte 0: expected UTF-8 text"):
        read_config(str(tmp_path / "bytes"))
