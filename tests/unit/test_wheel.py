"""The wheel that `make packages` made: its tag, what is in it, and what its programs need."""

import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packages import programs

import satline

DIST = Path(__file__).resolve().parents[2] / "dist"
WHEELS = sorted(DIST.glob(f"satline-{satline.__version__}-*.whl"))
NAMES = ("disk", "machine", "monitor", "swapper", "terminal", "thermometer", "traces")
PROGRAMS = {
    f"satline-{name}"
    for name in ["disk", "machine", "monitor", "swapper", "terminal", "thermometer", "traces"]
}


@pytest.fixture(params=WHEELS or [None], ids=lambda wheel: wheel.name if wheel else "none")
def wheel(request: pytest.FixtureRequest) -> Path:
    if request.param is None:
        pytest.skip("there is no wheel in dist: `make packages` makes it")
    return Path(request.param)


def test_the_wheel_fits_every_python(wheel: Path) -> None:
    python, abi, platform = wheel.stem.split("-")[2:]
    assert (python, abi) == ("py3", "none")
    assert platform in {f"manylinux_2_28_{machine}" for machine in programs.MACHINES}
    with zipfile.ZipFile(wheel) as opened:
        said = message_from_bytes(opened.read(f"satline-{satline.__version__}.dist-info/WHEEL"))
        assert said["Tag"] == f"py3-none-{platform}"
        assert not [name for name in opened.namelist() if name.endswith(".so")]


def test_the_programs_of_the_wheel_need_no_newer_glibc(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        scripts = [name for name in opened.namelist() if ".data/scripts/" in name]
        opened.extractall(tmp_path, scripts)
    found = {Path(name).name: tmp_path / name for name in scripts}
    assert found.keys() == PROGRAMS
    for file in found.values():
        assert (0, 0) < programs.newest_glibc(file) <= programs.GLIBC


def test_the_wheel_has_what_is_shipped_and_little_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        said = message_from_bytes(opened.read(f"satline-{satline.__version__}.dist-info/METADATA"))
    assert {"satline/share/catalogue/variables.toml", "satline/share/studies/this-host.toml"} <= names
    tops = {name.split("/")[0] for name in names}
    prefix = f"satline-{satline.__version__}"
    assert tops == {"satline", f"{prefix}.data", f"{prefix}.dist-info"}
    always = [need for need in said.get_all("Requires-Dist") if "extra ==" not in need]
    for library in ("altair", "cryptography", "pandas", "polars", "statsmodels", "vl-convert-python"):
        assert not [need for need in always if need.startswith(library)]
    assert {"images", "notebook", "pseudonyms"} <= set(said.get_all("Provides-Extra"))
