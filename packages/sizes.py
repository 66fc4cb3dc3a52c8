"""What an installation takes on disk, library by library, and what each is there for.

    python -m packages.sizes [WHEEL] [--extra images]

Bytecode is counted apart: pip compiles every module that it installs, also those that nothing imports, unless
it is told not to (`--no-compile`); Python then keeps that of the modules that are used.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REASONS = {
    "satline": "the programs, and the analyses",
    "pyarrow": "recordings: segments and Parquet, read and written; tables handed to other libraries",
    "scipy": "distributions, least squares with bounds, isotonic regression",
    "numpy": "arithmetic on columns; needed by scipy",
    "duckdb": "queries of recordings",
    "pydantic": "study, policy and mapping files, checked with the place of each error",
    "pydantic_core": "of pydantic",
    "rich": "tables in the terminal",
    "pygments": "of rich",
    "markdown-it-py": "of rich",
    "click": "the command line",
    "jinja2": "pages",
    "tomli_w": "TOML files, written",
    "altair": "extra images: describes pictures and charts",
    "vl-convert-python": "extra images: draws them without a browser",
    "narwhals": "of altair",
    "jsonschema": "of altair",
    "cryptography": "extra pseudonyms: seals names",
    "pandas": "extras pandas and notebook",
    "polars": "extra polars",
}


def megabytes(distribution: Distribution) -> float:
    """What its files take, without bytecode."""
    files = distribution.files or ()
    found = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in found if path.is_file()) / 1e6


def table(sizes: dict[str, float], least: float = 1.0) -> Iterable[str]:
    """Lines of Markdown, the largest first; what is smaller than `least` MB goes into one line."""
    yield "| library | MB | what for |"
    yield "|---|---|---|"
    known = {name.lower().replace("_", "-"): reason for name, reason in REASONS.items()}
    for name, size in sorted(sizes.items(), key=lambda one: -one[1]):
        if size >= least:
            yield f"| {name} | {size:.1f} | {known.get(name.lower().replace('_', '-'), 'of the above')} |"
    small = [size for size in sizes.values() if size < least]
    yield f"| {len(small)} others | {sum(small):.1f} | each below {least:g} MB |"
    yield f"| **together** | **{sum(sizes.values()):.1f}** | |"


def measured(wheel: Path, extras: str) -> tuple[dict[str, float], float]:
    """MB by library in a new environment with `wheel`, and MB of the bytecode of all of them."""
    with tempfile.TemporaryDirectory() as held:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", held], check=True)
        python = Path(held) / "bin/python"
        what = f"{wheel}[{extras}]" if extras else str(wheel)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python)]
        subprocess.run([*pip, "install", "--no-compile", what], check=True)
        (site,) = Path(held).glob("lib/python*/site-packages")
        sizes = {one.name: megabytes(one) for one in distributions(path=[str(site)])}
        subprocess.run([python, "-m", "compileall", "-q", site], stdout=subprocess.DEVNULL, check=False)
        compiled = sum(file.stat().st_size for file in site.rglob("*.pyc")) / 1e6
    return sizes, compiled


def main() -> int:
    parser = argparse.ArgumentParser(description="What an installation takes, library by library.")
    parser.add_argument("wheel", nargs="?", type=Path, help="by default that in dist")
    parser.add_argument("--extra", default="", metavar="NAME[,NAME...]", help="with these extras")
    given = parser.parse_args()
    wheel = given.wheel or max(
        ROOT.glob("dist/*x86_64.whl"), key=lambda file: file.stat().st_mtime, default=None
    )
    if wheel is None:
        raise SystemExit("error: there is no wheel in dist\nhint: make packages")
    sizes, compiled = measured(wheel.absolute(), given.extra)
    print("\n".join(table(sizes)))
    print(f"\nBytecode of all modules: {compiled:.1f} MB more; `pip install --no-compile` leaves it out.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
