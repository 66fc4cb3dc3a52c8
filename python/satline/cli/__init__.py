"""The command line. `satline.cli:main` is the program `satline`; `run` gives its exit code to a caller."""

from satline.cli.program import commands, main, run

__all__ = ["commands", "main", "run"]
