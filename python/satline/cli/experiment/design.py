"""`satline experiment design`, `satline experiment anova`: experiments planned and analysed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option, several
from satline.cli.experiment.power import LEVEL
from satline.cli.outputs import JSON, csv_option, picture_option, print_json, print_text, write_pictures
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.experiment.designs import Factor, Fraction, Plan
    from satline.experiment.variance import Results


@command("""\b
Examples:
  satline experiment design memory=640,768,1024 channels=1,2 --csv > plan.csv
  satline experiment design a=0,1 b=0,1 c=0,1 d=0,1 e=0,1 --fraction 1/2
  satline experiment design a=0,1 b=0,1 c=0,1 --blocks 2
""")
def design(
    factors: tuple[str, ...] = argument("FACTOR=LEVEL,LEVEL[,…]…"),
    fraction: str | None = option(
        "Run a fraction, with the highest resolution: 1/2, 1/4, …", metavar="1/2^P"
    ),
    resolution: str | None = option(
        "Run the smallest fraction with this resolution: III, IV, V.", metavar="R"
    ),
    generators: str | None = option(
        "Run the fraction given by these generators; letters in the order of the factors.", metavar="D=ABC,…"
    ),
    replicates: int = option("Number of replicates of each cell.", type=click.IntRange(1, 1000), default=1),
    blocks: str | None = option(
        "Blocks, such as days: 2, 4, … or one for each replicate.", metavar="N|replicates"
    ),
    confound: tuple[str, ...] = option("Interaction to confound with the blocks; repeatable.", metavar="ABC"),
    skip: tuple[str, ...] = option("A cell that cannot be run; repeatable.", metavar="F=L,G=M"),
    seed: int | None = option("Seed of the random order. [default: a new one]", type=click.IntRange(0)),
    as_csv: bool = csv_option("Print CSV: add a column of results for `satline experiment anova`."),
    as_json: bool = JSON,
) -> None:
    """Plan an experiment with these factors and levels, low first: every combination, or a fraction of them,
    in random order within blocks.

    For a fraction of a two-level design, the command says which effects cannot be told apart. Blocks account
    for differences that cannot be avoided, such as days; an interaction of high order is confounded with
    them, so that no other effect is.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other", click.get_current_context())
    from satline.present.designs import content, plan_blocks, plan_csv

    plan = _planned(factors, (fraction, resolution, generators), replicates, blocks, confound, skip, seed)
    if as_csv:
        click.echo(plan_csv(plan), nl=False)
    elif as_json:
        print_json("experiment-design", content(plan))
    else:
        print_text(plan_blocks(plan))


def _planned(
    texts: tuple[str, ...],
    part: tuple[str | None, str | None, str | None],
    replicates: int,
    blocks: str | None,
    confound: tuple[str, ...],
    skip: tuple[str, ...],
    seed: int | None,
) -> Plan:
    from satline.experiment.designs import check_factors, make_plan, parse_factor, parse_skip, parse_word

    factors = [parse_factor(text) for text in texts]
    check_factors(factors)
    by_replicate = blocks == "replicates"
    if blocks is not None and not by_replicate and not (blocks.isdecimal() and len(blocks) < 7):
        raise InputError(f"--blocks {blocks!r}", hint="write 2, 4, … or replicates")
    if by_replicate and replicates < 2:
        raise InputError("--blocks replicates with one replicate", hint="add --replicates 2")
    if seed is None:
        import secrets

        seed = secrets.randbelow(1_000_000)
    return make_plan(
        factors,
        seed=seed,
        replicates=replicates,
        fraction=_part(factors, *part),
        blocks=1 if blocks is None or by_replicate else int(blocks),
        confound=[parse_word(word, factors, f"--confound {word!r}") for word in confound],
        replicate_blocks=by_replicate,
        skips=[parse_skip(text, factors) for text in skip],
    )


def _part(
    factors: list[Factor], fraction: str | None, resolution: str | None, generators: str | None
) -> Fraction | None:
    from satline.experiment.designs import (
        choose_fraction,
        fraction_of,
        parse_fraction,
        parse_generators,
        parse_resolution,
    )

    given = [one for one in (fraction, resolution, generators) if one is not None]
    if len(given) > 1:
        raise InputError("--fraction, --resolution and --generators exclude each other", hint="give one")
    if not given:
        return None
    if any(len(factor.levels) != 2 for factor in factors):
        raise InputError(
            "a fraction needs factors at two levels", hint="run all combinations, or fewer levels"
        )
    if fraction is not None:
        return fraction_of(len(factors), parse_fraction(fraction))
    if resolution is not None:
        return choose_fraction(len(factors), parse_resolution(resolution))
    return parse_generators(generators or "", factors)


# How the rows of a table become runs, as `per_run` takes it; how runs are analysed, as `analyse` does.
ROWS = several(
    dict,
    run=option(
        "Column that numbers the runs; rows of one run are combined. [default: run]", metavar="COLUMN"
    ),
    block=option("Column that numbers the blocks. [default: block]", metavar="COLUMN"),
    statistic=option(
        "How the rows of a run are combined.",
        type=click.Choice(["mean", "median", "p90", "p95"]),
        default="mean",
    ),
    rows_are_runs=option("Treat each row as a separate run, whatever columns there are.", is_flag=True),
)
MODEL = several(
    dict,
    pool=option(
        "Use interactions of ORDER or more factors as the error.", type=click.IntRange(2), metavar="ORDER"
    ),
    by_lenth=option("Judge two-level effects by Lenth's method: no replicates.", "--lenth", is_flag=True),
    kind=option("Type of the sums of squares.", "--type", type=click.Choice(["II", "III"]), default="II"),
    adjust=option(
        "How p-values are adjusted for many effects.",
        type=click.Choice(["holm", "bonferroni", "none"]),
        default="holm",
    ),
    level=LEVEL,
)


@command("""\b
Examples:
  satline experiment anova results.csv --response ms --factors memory,cpus
  satline experiment anova results.csv --response ms --factors a,b,c --pool 2
  satline experiment anova results.csv --response ms --factors a,b --by class
""")
def anova(
    table: Path = argument(),
    response: str = option("Column of what was measured.", required=True, metavar="COLUMN"),
    factors: str = option("Columns of what was varied.", required=True, metavar="COLUMN,…"),
    by: str | None = option(
        "Analyse each class of this column, such as command types, separately.", metavar="COLUMN"
    ),
    rows: dict[str, Any] = ROWS,
    transform: str = option(
        "Transformation of each run's response.", type=click.Choice(["log", "none"]), default="none"
    ),
    how: dict[str, Any] = MODEL,
    svg: Path | None = picture_option("svg", former=("--plots",)),
    as_json: bool = JSON,
) -> None:
    """Analyse the results of a designed experiment: a table (CSV, Parquet or JSON) with one or more rows for
    each run.

    Rows of one run, such as its transactions, are not independent of each other: they are first combined into
    one number per run. Without replicates there is no error to compare effects with: declare which
    interactions are the error (--pool), or judge two-level effects against each other (--lenth).
    """
    from satline.experiment.variance import per_run, read_table, split_by

    names = [name.strip() for name in factors.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"--factors {factors!r}", hint="name each column once: --factors memory,channels")
    whole = read_table(table)
    classes = [(None, whole)] if by is None else split_by(whole, by, table)
    made: list[dict[str, Any]] = []
    for name, part in classes:
        try:
            results = per_run(part, table, response, names, **rows)
            made.append(_analysed(results, name, response, transform == "log", how, svg, as_json))
        except InputError as error:
            if name is None:
                raise
            error.message = f"{by} {name}: {error.message}"
            raise
    if as_json:
        if by is None:
            print_json("experiment-anova", made[0])
        else:
            print_json("experiment-anova-by", classes=made)


def _analysed(
    results: Results,
    name: str | None,
    response: str,
    log: bool,
    how: dict[str, Any],
    svg: Path | None,
    as_json: bool,
) -> dict[str, Any]:
    import numpy as np

    from satline.experiment.variance import analyse
    from satline.present.variance import analysis_blocks, content

    y = results.y
    if log:
        if float(y.min()) <= 0.0:
            raise InputError(
                f"--transform log: a run's {response} is not above 0", hint="use --transform none"
            )
        y = np.log(y)
    found = analyse(results.layout, y, log=log, order=results.order, **how)
    files = _write_plots(found, response, svg, name) if svg is not None else []
    if as_json:
        return content(found, name, results.notes)
    what = f"{response} of {len(y)} runs" + (", logarithms" if log else "")
    title = what if name is None else f"{name}: {what}"
    print_text(analysis_blocks(found, [title, *results.notes]))
    if files:
        from satline.present import visible

        click.echo(f"written: {visible(files[0].parent)}: {', '.join(visible(f.name) for f in files)}")
    click.echo()
    return {}


def _write_plots(found: Any, response: str, path: Path, name: str | None) -> list[Path]:
    import re

    from satline.present.variance_plots import plots

    lead = "" if name is None else re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] + "-"
    return write_pictures(plots(found, response), path, "svg", lead=lead, several=name is not None)
