"""What pyproject.toml cannot say of the build: the shipped TOML goes into the wheel as satline/share."""

from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

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


setup(cmdclass={"build_py": BuildWithShare})
