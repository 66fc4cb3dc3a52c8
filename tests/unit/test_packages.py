"""The makers of packages: archives that are the same each time, manual pages, images, tables of sizes."""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
from packages import archive, image, manual, programs, recorder, sizes

import satline

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "bin").mkdir(parents=True)
    (top / "bin/program").write_text("#!/bin/sh\necho made\n")
    (top / "bin/program").chmod(0o755)
    (top / "notes").write_text("some words\n")
    return top


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Programs, as far as packing is concerned."""
    place = tmp_path / "built"
    place.mkdir()
    for name in recorder.PROGRAMS:
        (place / name).write_text("#!/bin/sh\necho made\n")
    return place


TOLD = dict.fromkeys(recorder.PROGRAMS, "Do one thing.\n\nUsage: it [OPTIONS]\n\nOptions:\n  -h, --help\n")


def test_an_archive_is_the_same_whenever_it_is_made(tree: Path) -> None:
    first = archive.gzipped(archive.tar(tree, EPOCH, "top"))
    (tree / "notes").touch()
    (tree / "notes").chmod(0o600)
    assert archive.gzipped(archive.tar(tree, EPOCH, "top")) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as opened:
        assert opened.getnames() == ["top/bin", "top/bin/program", "top/notes"]
        assert {entry.mtime for entry in opened} == {EPOCH}
        assert opened.getmember("top/bin/program").mode == 0o755
        assert opened.getmember("top/notes").mode == 0o644
        assert opened.getmember("top/notes").uname == "root"


def test_an_image_holds_what_its_index_says(tree: Path, tmp_path: Path) -> None:
    layout = tmp_path / "image"
    said = image.write_image(
        tree, layout, machine="amd64", version="1.2", command=["/bin/program"], epoch=EPOCH
    )

    def blob(entry: dict[str, str]) -> bytes:
        content = (layout / "blobs" / entry["digest"].replace(":", "/")).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["digest"].removeprefix("sha256:")
        assert len(content) == entry["size"]
        return content

    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    assert entry["digest"] == said
    manifest = json.loads(blob(entry))
    configuration = json.loads(blob(manifest["config"]))
    assert configuration["config"]["Entrypoint"] == ["/bin/program"]
    (layer,) = manifest["layers"]
    plain = gzip.decompress(blob(layer))
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(plain)) as opened:
        assert "bin/program" in opened.getnames()


def test_a_manual_page_says_what_help_says() -> None:
    told = """Do one thing.

More -- of it.

Usage: it [OPTIONS]

Options:
      --a <B>
          What a is

          [default: 1]

Examples:
  it --a 2
"""
    lines = manual.page("it", told, "1.2").splitlines()
    assert lines[:3] == ['.TH IT 1 "" "Satline 1.2" "Satline"', ".SH NAME", "it \\- Do one thing"]
    assert "More \\-\\- of it." in lines
    option = lines.index(".TP")
    assert lines[option + 1 : option + 5] == [".B \\-\\-a <B>", "What a is", ".IP", "[default: 1]"]
    assert lines.index(".SH SYNOPSIS") < lines.index(".SH OPTIONS") < option < lines.index(".SH EXAMPLES")
    assert lines[-4:] == [".SH EXAMPLES", ".nf", "  it \\-\\-a 2", ".fi"]


def test_a_line_that_begins_with_a_point_is_no_request() -> None:
    assert "\\&.TH evil" in manual.page("it", "One.\n\n.TH evil\n", "1")


def test_the_newest_glibc_is_that_of_the_highest_number(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\0GLIBC_2.4\0GLIBC_2.28\0GLIBC_2.9\0GLIBC_PRIVATE\0")
    assert programs.newest_glibc(program) == (2, 28)
    program.write_bytes(b"nothing")
    assert programs.newest_glibc(program) == (0, 0)


def test_the_unit_of_the_recorder_starts_the_recorder_alone(built: Path, tmp_path: Path) -> None:
    recorder.lay(built, tmp_path / "usr", "1.2", TOLD)
    unit = (tmp_path / "usr/lib/systemd/system/satline-record.service").read_text()
    (start,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert start.startswith("ExecStart=/usr/bin/satline-monitor --recording /var/lib/satline/host.satline ")
    assert "recording compact" not in unit
    assert "None" not in unit
    page = gzip.decompress((tmp_path / "usr/share/man/man1/satline-monitor.1.gz").read_bytes()).decode()
    assert "Satline 1.2" in page


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_a_debian_package_is_the_same_whenever_it_is_made(built: Path, tmp_path: Path) -> None:
    made = []
    for place in ("one", "other"):
        recorder.lay(built, tmp_path / place / "usr", "1.2", TOLD)
        deb = tmp_path / f"{place}.deb"
        licence = ROOT / "LICENSE"
        recorder.write_deb(
            tmp_path / place, deb, version="1.2", machine="amd64", epoch=EPOCH, licence=licence
        )
        made.append(deb.read_bytes())
    assert made[0] == made[1]
    told = subprocess.run(["dpkg-deb", "--contents", deb], capture_output=True, text=True, check=True).stdout
    assert "./usr/bin/satline-monitor" in told
    assert "./usr/lib/systemd/system/satline-record.service" in told
    assert "drwxr-x--- root/root" in told


def test_sizes_are_summed_the_largest_first() -> None:
    lines = list(sizes.table({"small": 0.4, "PyArrow": 120.0, "tiny": 0.1, "scipy": 90.0}))
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "PyArrow",
        "scipy",
        "2 others",
        "**together**",
    ]
    assert lines[2].endswith("tables handed to other libraries |")
    assert "**210.5**" in lines[-1]


def test_one_version_everywhere() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    own = {package["version"] for package in locked if package["name"].startswith("satline-")}
    assert own == {cargo}
    assert satline.__version__ == cargo
