"""Make every package into dist: `python -m packages.make`, for one kind of machine or several.

    python -m packages.make --tools .venv/packaging/bin x86_64 aarch64

Kinds for which the compiler has no library of its own are left out, with a line that says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packages import image, programs, recorder
from satline.systems.binaries import find_binary

ROOT = Path(__file__).resolve().parent.parent
LICENCE = ROOT / "LICENSE"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make every package into dist.")
    parser.add_argument("machines", nargs="*", default=["x86_64"], metavar="MACHINE")
    parser.add_argument(
        "--tools", type=Path, required=True, help="where cargo-zigbuild, python and build are"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--target", type=Path, default=ROOT / "target/packages")
    given = parser.parse_args()
    if unknown := set(given.machines) - set(programs.MACHINES):
        parser.error(
            f"no such machine: {', '.join(sorted(unknown))}; there are {', '.join(programs.MACHINES)}"
        )
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _last_commit())
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    given.out.mkdir(parents=True, exist_ok=True)
    _python(given.tools, "--sdist", given.out)
    for name in given.machines:
        machine = programs.MACHINES[name]
        rustc = programs.compiler(machine)
        if rustc is None:
            print(f"{name}: left out: no compiler for {machine.triple}; see docs/guides/install.md")
            continue
        built = programs.build_for_wheel(machine, rustc, given.target, given.tools)
        for program in (path for path in built.glob("satline-*") if not path.suffix):
            newest = programs.newest_glibc(program)
            if newest > programs.GLIBC:
                raise SystemExit(f"error: {program} needs glibc {newest[0]}.{newest[1]}")
        _wheel(given.tools, built, machine, given.out)
        _recorder(machine, rustc, given.target, given.out, version, epoch)
    for path in sorted(given.out.iterdir()):
        print(f"{_size(path) / 1e6:8.1f} MB  {path.name}")
    return 0


def _last_commit() -> str:
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


def _python(tools: Path, what: str, out: Path, *more: str, built: Path | None = None) -> None:
    chosen = {"SATLINE_PROGRAMS": str(built)} if built else {}
    command = [
        str(tools / "python"),
        "-m",
        "build",
        "--no-isolation",
        what,
        "--outdir",
        str(out),
        *more,
        str(ROOT),
    ]
    subprocess.run(command, env={**os.environ, **chosen}, stdout=subprocess.DEVNULL, check=True)


def _wheel(tools: Path, built: Path, machine: programs.Machine, out: Path) -> None:
    platform = f"manylinux_{programs.GLIBC[0]}_{programs.GLIBC[1]}_{machine.wheel}"
    # What a wheel for other machines left there would be taken into this one.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    _python(tools, "--wheel", out, f"-C--build-option=--plat-name={platform}", built=built.absolute())


def _recorder(
    machine: programs.Machine, rustc: str, target: Path, out: Path, version: str, epoch: int
) -> None:
    try:
        built = programs.build_static(machine, rustc, target, recorder.PROGRAMS)
    except subprocess.CalledProcessError:
        print(f"{machine.wheel}: no recorder: it could not be linked statically; see docs/guides/install.md")
        return
    for program in recorder.PROGRAMS:
        if not programs.is_static(built / program):
            raise SystemExit(f"error: {built / program} needs libraries")
    told = {name: _help(name) for name in recorder.PROGRAMS}
    name = f"satline-recorder-{version}-linux-{machine.wheel}"
    with tempfile.TemporaryDirectory() as held:
        tree = Path(held)
        recorder.lay(built, tree / "tar", version, told)
        recorder.write_tarball(tree / "tar", out / f"{name}.tar.gz", version, epoch, LICENCE)
        recorder.lay(built, tree / "deb/usr", version, told)
        deb = out / f"satline-recorder_{version}_{machine.debian}.deb"
        recorder.write_deb(
            tree / "deb", deb, version=version, machine=machine.debian, epoch=epoch, licence=LICENCE
        )
        layer = tree / "image"
        for directory in ("bin", "var/tmp", "dev", "proc", "sys", "etc"):
            (layer / directory).mkdir(parents=True)
        for program in recorder.PROGRAMS:
            shutil.copy2(built / program, layer / "bin" / program)
        layout = out / f"{name}.oci"
        shutil.rmtree(layout, ignore_errors=True)
        command = ["/bin/satline-monitor"]
        image.write_image(
            layer, layout, machine=machine.debian, version=version, command=command, epoch=epoch
        )


def _help(program: str) -> str:
    """What the program says of itself: that which is installed here, whatever machine is packed for."""
    return subprocess.run([find_binary(program), "--help"], capture_output=True, text=True, check=True).stdout


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    sys.exit(main())
