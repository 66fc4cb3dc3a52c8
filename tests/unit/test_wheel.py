"""The wheels that `make packages` made: tags, what is in them, what their programs need and write."""

import json
import os
import shutil
import subprocess
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from packages import programs

import satline
from satline.systems.binaries import find_binary

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WHEELS = sorted(DIST.glob(f"satline-{satline.__version__}-*.whl"))
PROGRAMS = {
    f"satline-{name}"
    for name in ["disk", "machine", "monitor", "swapper", "terminal", "thermometer", "traces"]
}
TIMES = ("elapsed_s", "references_per_s")


@pytest.fixture(params=WHEELS or [None], ids=lambda wheel: wheel.name if wheel else "none")
def wheel(request: pytest.FixtureRequest) -> Path:
    if request.param is None:
        pytest.skip("there is no wheel in dist: `make packages` makes it")
    return Path(request.param)


@pytest.fixture
def unpacked(wheel: Path, tmp_path: Path) -> dict[str, Path]:
    """The wheel's programs by name."""
    with zipfile.ZipFile(wheel) as opened:
        scripts = [name for name in opened.namelist() if ".data/scripts/" in name]
        opened.extractall(tmp_path / "wheel", scripts)
    found = {Path(name).name: tmp_path / "wheel" / name for name in scripts}
    for file in found.values():
        file.chmod(0o755)
    return found


@pytest.fixture
def emulator(wheel: Path) -> list[str]:
    """What runs the wheel's programs here: nothing, or QEMU with the libraries of the cross compiler."""
    newest = max(file.stat().st_mtime for file in (ROOT / "crates").rglob("*.rs"))
    if wheel.stat().st_mtime < newest:
        pytest.skip("the wheel in dist is older than the crates: `make packages` makes it anew")
    machine = next(name for name in programs.MACHINES if wheel.stem.endswith(f"_{name}"))
    if machine == os.uname().machine:
        return []
    libraries = Path(f"/usr/{machine}-linux-gnu")
    found = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    if found is None or not libraries.is_dir():
        pytest.skip(
            f"nothing runs programs for {machine}: apt-get install qemu-user-static libc6-dev-arm64-cross"
        )
    return [found, "-L", str(libraries)]


def test_the_wheel_fits_every_python(wheel: Path) -> None:
    python, abi, platform = wheel.stem.split("-")[2:]
    assert (python, abi) == ("py3", "none")
    assert platform in {f"manylinux_2_28_{machine}" for machine in programs.MACHINES}
    with zipfile.ZipFile(wheel) as opened:
        said = message_from_bytes(opened.read(f"satline-{satline.__version__}.dist-info/WHEEL"))
        assert said["Tag"] == f"py3-none-{platform}"
        assert not [name for name in opened.namelist() if name.endswith(".so")]


def test_the_programs_of_the_wheel_need_no_newer_glibc(unpacked: dict[str, Path]) -> None:
    assert unpacked.keys() == PROGRAMS
    for file in unpacked.values():
        assert (0, 0) < programs.newest_glibc(file) <= programs.GLIBC


def test_the_programs_of_the_wheel_are_for_the_machine_of_its_name_and_stripped(
    wheel: Path, unpacked: dict[str, Path]
) -> None:
    numbers = {"x86_64": 62, "aarch64": 183}  # e_machine, of the ELF specification
    machine = next(name for name in programs.MACHINES if wheel.stem.endswith(f"_{name}"))
    for file in unpacked.values():
        head = file.read_bytes()[:20]
        assert head[:4] == b"\x7fELF"
        assert int.from_bytes(head[18:20], "little") == numbers[machine]
        sections = subprocess.run(
            ["readelf", "--section-headers", "--wide", file], capture_output=True, text=True, check=True
        ).stdout
        assert ".text" in sections
        assert ".symtab" not in sections


def test_the_programs_of_the_wheel_write_what_the_tested_ones_write(
    emulator: list[str], unpacked: dict[str, Path], tmp_path: Path
) -> None:
    """They are linked otherwise, and perhaps for another machine: neither may change a number."""
    pages = tmp_path / "pages"
    pages.write_text("".join(f"{number * number % 97}\n" for number in range(3000)))
    simulated = [ROOT / "machines/155-II-1mb.toml", ROOT / "workloads/simulated/cms.toml"]

    def written(place: Path, commands: dict[str, list[str]]) -> tuple[list[Any], dict[Path, bytes]]:
        def run(name: str, *options: str | Path) -> str:
            line = [*commands[name], *options]
            return subprocess.run(line, capture_output=True, text=True, check=True, cwd=place).stdout

        place.mkdir()
        told: list[Any] = [run(name, "--help") for name in sorted(commands)]
        few = ["--users", "4,12", "--step-seconds", "300", "--seed", "7", "--record", "run.satline"]
        run("satline-machine", "run", *simulated, *few)
        run("satline-traces", "import", "--output", "kept.trace", pages)
        replayed = json.loads(run("satline-traces", "replay", "--json", "kept.trace"))
        told.append({key: value for key, value in replayed.items() if key not in TIMES})
        return told, {
            file.relative_to(place): file.read_bytes() for file in place.rglob("*") if file.is_file()
        }

    tested = written(tmp_path / "tested", {name: [str(find_binary(name))] for name in PROGRAMS})
    shipped = written(tmp_path / "shipped", {name: [*emulator, str(file)] for name, file in unpacked.items()})
    assert shipped == tested
    assert len(tested[1]) > 5


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
