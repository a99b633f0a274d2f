"""tfport's configuration messages have the same text, bytes and fields as TensorFlow Serving's."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from tfport.formats.proto import model_server_config_pb2 as ours
from tfport.serve.models.config import settings_of

theirs = pytest.importorskip(
    "tensorflow_serving.config.model_server_config_pb2", reason="pip install tensorflow-serving-api"
)

TEXT = """
model_config_list {
  config {
    name: "a" base_path: "/models/a" model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 9007199254740993 } }
    version_labels { key: "stable" value: 1 }
    version_labels { key: "canary" value: 9007199254740993 }
    logging_config {
      log_collector_config { type: "file" filename_prefix: "/logs/a" }
      sampling_config { sampling_rate: 0.25 }
    }
  }
  config { name: "b" base_path: "gs://bucket/b" model_type: TENSORFLOW model_version_policy { all {} } }
  config { name: "c" base_path: "/c" model_version_policy { latest { num_versions: 3 } } }
}
"""


def test_messages_of_tensorflow_serving_are_read_unchanged():
    config = text_format.Parse(TEXT, theirs.ModelServerConfig())
    read = ours.ModelServerConfig.FromString(config.SerializeToString())
    assert read == text_format.Parse(TEXT, ours.ModelServerConfig())
    assert theirs.ModelServerConfig.FromString(read.SerializeToString()) == config
    assert [settings.name for settings in settings_of(read)] == ["a", "b", "c"]


def fields(message) -> dict[str, tuple[int, int]]:
    return {field.name: (field.number, field.type) for field in message.DESCRIPTOR.fields}


@pytest.mark.parametrize("name", ["ModelConfig", "ModelConfigList", "ModelServerConfig"])
def test_no_field_is_missing(name):
    assert fields(getattr(theirs, name)).items() <= fields(getattr(ours, name)).items()
