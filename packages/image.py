"""An image of the Open Container Initiative, as a directory that skopeo and podman read: one layer."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packages.archive import gzipped, tar

_KIND = "application/vnd.oci.image"


def write_image(tree: Path, out: Path, *, machine: str, version: str, command: list[str], epoch: int) -> str:
    """Write the layout `out` of an image whose files are those of `tree`; returns the digest of its manifest.

    Parameters
    ----------
    machine
        In Go's words: amd64, arm64.
    command
        What is started: the program, as the entry point.
    epoch
        The time of the image, seconds since 1970.

    References
    ----------
    OCI Image Format Specification 1.1: layout, manifest, configuration.
    """
    blobs = out / "blobs/sha256"
    blobs.mkdir(parents=True)

    def store(content: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"mediaType": f"{_KIND}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    plain = tar(tree, epoch)
    layer = store(gzipped(plain), "layer.v1.tar+gzip")
    made = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = {
        "created": made,
        "architecture": machine,
        "os": "linux",
        "config": {
            "Entrypoint": command,
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": "satline-recorder",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain).hexdigest()}"]},
        "history": [{"created": made, "created_by": "make packages"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_KIND}.manifest.v1+json",
        "config": store(_json(configuration), "config.v1+json"),
        "layers": [layer],
    }
    entry = store(_json(manifest), "manifest.v1+json")
    entry["platform"] = {"architecture": machine, "os": "linux"}
    entry["annotations"] = {"org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": f"{_KIND}.index.v1+json", "manifests": [entry]}
    (out / "index.json").write_bytes(_json(index))
    (out / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    return str(entry["digest"])


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode() + b"\n"
