"""What pyproject.toml cannot say of the build.

The shipped TOML goes into the wheel as satline/share. The wheel holds programs and no extension
module: one fits every Python. Programs that are built already, in $SATLINE_PROGRAMS, are taken as they are.
"""

import os
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools_rust import RustExtension
from setuptools_rust.build import build_rust

SHARED = ("catalogue", "machines", "studies", "workloads")


class BuildWithShare(build_py):
    """Copies the packages, then the shipped files beside them."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return  # satline.share finds the source tree itself
        package = Path(self.build_lib) / "satline"
        rmtree(package, ignore_errors=True)  # what an earlier build left must not go into this wheel
        super().run()
        for name in SHARED:
            copytree(name, package / "share" / name, ignore=ignore_patterns("__pycache__"))


class BuildPrograms(build_rust):
    """Compiles the programs, or takes those that `make packages` linked for older systems."""

    def run_for_extension(self, ext: RustExtension) -> None:
        built = os.environ.get("SATLINE_PROGRAMS")
        if not built:
            super().run_for_extension(ext)
            return
        programs = [(name, str(Path(built) / name)) for name in ext.target.values()]
        self.install_extension(ext, programs, None)


class WheelForEveryPython(bdist_wheel):
    """Tags the wheel py3-none-PLATFORM."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithShare, "build_rust": BuildPrograms, "bdist_wheel": WheelForEveryPython})
