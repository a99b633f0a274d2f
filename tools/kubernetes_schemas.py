"""Record the schemas of the Kubernetes objects in `deploy/`, for `tests/serve/test_deploy.py`.

    pip download --no-deps kubernetes-validate
    python tools/kubernetes_schemas.py kubernetes_validate-*.whl

The package has the schemas of many Kubernetes releases; these are the strict ones of the newest, which refuse
unknown fields, without descriptions.
"""

import json
import lzma
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

KINDS = (
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.networking.v1.NetworkPolicy",
    "io.k8s.api.policy.v1.PodDisruptionBudget",
)
OUTPUT = Path(__file__).parents[1] / "tests" / "serve" / "kubernetes_schemas.json.xz"
_FILE = re.compile(r".*/v1\.(\d+)\.\d+-local-strict/_definitions\.json")


def main(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as package:
        name = max(filter(_FILE.fullmatch, package.namelist()), key=lambda n: int(_FILE.fullmatch(n)[1]))
        definitions = json.loads(package.read(name))["$defs"]
    kept: dict[str, Any] = {}
    wanted = list(KINDS)
    while wanted:
        if (kind := wanted.pop()) not in kept:
            kept[kind] = _slim(definitions[kind])
            wanted += re.findall(r'"#/definitions/([^"]+)"', json.dumps(kept[kind]))
    schemas = {"release": _FILE.fullmatch(name)[0].split("/")[-2], "definitions": kept}
    OUTPUT.write_bytes(lzma.compress(json.dumps(schemas, sort_keys=True).encode()))
    print(f"{schemas['release']}: {len(kept)} definitions, {OUTPUT.stat().st_size} bytes")


def _slim(schema: Any) -> Any:
    """Leave out texts; references lead to `#/definitions`."""
    if isinstance(schema, dict):
        return {
            key: f"#/definitions/{value.rpartition('/')[2]}" if key == "$ref" else _slim(value)
            for key, value in schema.items()
            if not (key == "description" and isinstance(value, str)) and not key.startswith("x-")
        }
    return [_slim(item) for item in schema] if isinstance(schema, list) else schema


if __name__ == "__main__":
    main(sys.argv[1])
