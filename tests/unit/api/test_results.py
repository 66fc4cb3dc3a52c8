"""Results of the analyses: their tables, charts and lines; hostile names in each of them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from api_host import HOSTILE, MONDAY
from api_shown import assert_harmless, dots

import satline
from satline import api
from satline.api._charts import Dot, line_chart, with_band
from satline.diagnosis import Estimate
from satline.reduction import Filters

pytestmark = pytest.mark.slow


def test_curves_are_a_table_of_numbers(host: api.OpenRecording) -> None:
    curves = host.reduce("active_users", variables=["total_cpu", "response"])
    rows = curves.to_arrow()
    assert set(rows.column("variable").to_pylist()) == {"total_cpu", "response"}
    assert rows.schema.field("mean").type == pa.float64()
    assert rows.schema.field("load").metadata[b"unit"] == b"users"
    kept = [r for r in rows.to_pylist() if r["variable"] == "total_cpu"]
    for row, point in zip(kept, curves.result.curves["total_cpu"].points, strict=True):
        assert row["mean"] == point.mean
        assert row["honest_error"] == point.honest_error
        assert row["p90"] == point.percentiles.get(90)
    assert_harmless(curves)
    assert {d["series"] for d in dots(curves.plot("total_cpu"))} != set()
    assert "rises" in " ".join(curves.trends().to_arrow().column("trend").to_pylist())


def test_observations_are_behind_the_curves(host: api.OpenRecording) -> None:
    curves = host.reduce("active_users", variables=["total_cpu"])
    rows = curves.observations("total_cpu").to_arrow()
    assert rows.num_rows == len(curves.result.load)
    assert rows.column_names == ["load", "load_class", "block", "length_s", "total_cpu"]
    with pytest.raises(satline.InputError, match="no observations of it"):
        curves.observations("page_wait")
    with pytest.raises(satline.InputError, match="page_wait has no curve"):
        curves.plot("page_wait")


def test_filters_and_axes_are_those_of_the_reduction(host: api.OpenRecording) -> None:
    few = host.reduce(variables=["total_cpu"], filters=Filters(hours=(9, 12)))
    assert "hours 9-12" in repr(few)
    with pytest.raises(satline.InputError, match="the recording has no values of it"):
        host.reduce("load_average", variables=["total_cpu"])


def test_a_diagnosis_says_what_the_command_says(steps: api.OpenRecording) -> None:
    from satline.diagnosis import diagnose

    found = steps.diagnose()
    assert found.headline == diagnose(steps.recording).headline
    assert repr(found).startswith(found.headline)
    rows = found.to_arrow().to_pylist()
    assert [r["rule"] for r in rows][: len(found.findings)] == [f.rule for f in found.findings]
    assert {r["state"] for r in rows} <= {"holds", "does-not-hold", "cannot-judge"}
    assert found.evidence().to_arrow().schema.field("value").type == pa.float64()
    shares = found.waits().to_arrow().to_pylist()
    assert all(0 <= r["share"] <= 1.001 for r in shares if r["share"] is not None)
    assert len(found.resources()) == len(found.result.standing.uses) if found.result.standing else True
    assert len(dots(found.plot())) >= len(found.reduced.result.classes)
    again = steps.diagnose(found.reduced)
    assert again.headline == found.headline
    for shown in (found, found.evidence(), found.waits(), found.resources()):
        assert_harmless(shown)


def test_a_saturation_load_is_marked_on_the_curve_that_it_is_of(
    steps: api.OpenRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = steps.diagnose()
    at = Estimate(12.0, 10.0, math.inf, "users")
    verdict = replace(found.saturation, outcome="saturated", at=at)
    monkeypatch.setattr(found, "result", replace(found.result, saturation=verdict))
    drawn = dots(found.plot())
    (band,) = (d for d in drawn if "words" in d)
    assert (band["x"], band["low"], band["high"]) == (12.0, 10.0, 26.0), "it ends where the loads end"
    assert [d["x"] for d in drawn if "series" in d] == [2, 6, 10, 14, 20, 26]


def test_names_of_users_do_no_harm(host: api.OpenRecording) -> None:
    found = host.diagnose()
    for shown in (host, host.users, host.tables, host.table("user"), host.info(), found, found.evidence()):
        assert_harmless(shown)
    assert "&lt;script&gt;" in host.users._repr_html_()


def test_info_says_which_questions_can_be_answered(host: api.OpenRecording) -> None:
    info = host.info()
    assert "363 readings" in repr(info)
    assert any(r["answerable"] for r in info.to_arrow().to_pylist())
    with pytest.raises(satline.InputError, match="nothing to draw"):
        info.plot()


def test_two_weeks_are_compared_at_equal_load(host: api.OpenRecording, weeks: tuple[Path, Path]) -> None:
    found = host.compare(weeks[1])
    assert found.outcome == "fell"
    (row,) = found.overall().to_arrow().to_pylist()
    assert row["relative_low"] < -0.25 < row["relative_high"]
    rows = found.to_arrow().to_pylist()
    matched = found.result.matched
    assert matched is not None
    assert [r["difference"] for r in rows] == [c.difference.value for c in matched.classes]
    assert len(dots(found.plot())) == 3 * len(matched.classes)
    same = satline.compare([weeks[0]], satline.open(weeks[1]))
    assert same.headline == found.headline
    for shown in (found, found.overall(), found.trade_off()):
        assert_harmless(shown)


def test_one_recording_is_cut_in_two(host: api.OpenRecording) -> None:
    cut = datetime.fromtimestamp(MONDAY + 86400 + 12 * 3600, UTC)
    found = host.compare(at=cut)
    assert host.compare(at=cut.timestamp()).headline == found.headline
    for wrong, message in (
        ({"at": cut.replace(tzinfo=None)}, "no time zone"),
        ({"at": cut, "annotation": "x"}, "exclude each other"),
        ({"at": cut, "other": host}, "cut one recording"),
        ({}, "two periods are compared"),
        ({"other": host}, "is on both sides"),
    ):
        with pytest.raises(satline.InputError, match=message):
            host.compare(**wrong)  # type: ignore[arg-type]


def test_a_prediction_has_what_was_measured_beside_it(steps: api.OpenRecording) -> None:
    found = steps.predict(["cpu=2x"], users=[10, 20, 40])
    assert [s.name for s in found.scenarios] == ["as it is", "cpu=2x"]
    rows = found.to_arrow().to_pylist()
    assert [(r["scenario"], r["users"]) for r in rows[:3]] == [("as it is", n) for n in (10, 20, 40)]
    assert rows[0]["measured_throughput"] is not None
    assert rows[2]["measured_throughput"] is None, "40 users were not recorded"
    assert found.to_arrow().schema.field("response_s").metadata[b"unit"] == b"s"
    assert {d["series"] for d in dots(found.plot())} == {"as it is", "cpu=2x", "measured"}
    assert len(found.demands()) == len(found.result.demands)
    assert all(r["utilisation"] >= 0 for r in found.utilisation().to_arrow().to_pylist())
    assert_harmless(found)
    with pytest.raises(satline.InputError, match="change 'cpu'"):
        steps.predict("cpu")


def test_what_cannot_be_predicted_says_why(host: api.OpenRecording) -> None:
    found = host.predict(loads=(99, 99))
    assert repr(found).startswith("Nothing can be predicted")
    assert found.to_arrow().num_rows == 0
    with pytest.raises(satline.InputError, match="nothing to draw"):
        found.plot()


def test_a_name_cannot_end_the_script_by_which_a_notebook_draws_a_chart() -> None:
    name = f"</script>{HOSTILE}<!--"
    chart = line_chart([Dot(name, 1.0, 2.0), Dot("other", 2.0, 3.0)], name, name)
    page = with_band(chart, 1.0, 0.5, 1.5, name).to_html()
    plain = line_chart([Dot("a", 1.0, 2.0), Dot("b", 2.0, 3.0)], "x", "y").to_html()
    assert page.count("<") == plain.count("<")
    assert "\x1b" not in page


def test_a_name_of_bytes_that_are_no_text_is_kept_visible() -> None:
    rows = api._columns.made_table([api.Column("name", "text")], [("a\udcff",), (HOSTILE,)])
    frame = api.Frame("names", lambda: rows)
    assert rows.column(0).to_pylist()[0] == "a\\udcff"
    assert_harmless(frame)
