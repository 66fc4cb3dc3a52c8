//! The shipped device files, and wrong ones.

use crate::support::paging_load::device;
use satline_machine::devices::{DeviceModel, Figures};
use satline_program::Error;

#[test]
fn every_shipped_file_has_the_capacity_that_the_figures_give() {
    for (name, pages, revolution_ms, unverified) in [
        ("2305-2", 2_304, 10.0, vec!["exposures"]),
        (
            "3330-1",
            23_028,
            16.7,
            vec![
                "rate_bytes_per_s",
                "rotation_ms",
                "seek_max_ms",
                "seek_mean_ms",
                "seek_min_ms",
            ],
        ),
        (
            "3330-11",
            46_056,
            16.7,
            vec![
                "rate_bytes_per_s",
                "rotation_ms",
                "seek_max_ms",
                "seek_mean_ms",
                "seek_min_ms",
            ],
        ),
        (
            "3340-70",
            16_704,
            20.2,
            vec!["rate_bytes_per_s", "rotation_ms", "seek_max_ms", "seek_min_ms"],
        ),
        ("3350", 66_600, 16.8, vec!["seek_max_ms", "seek_min_ms"]),
        ("3380", 132_750, 16.6, vec!["seek_max_ms", "seek_min_ms"]),
    ] {
        let model = device(name);
        assert_eq!(model.figures().name, name);
        assert_eq!(model.cylinders() * model.slots_per_cylinder(), pages, "{name}");
        assert!(
            (model.track().revolution().seconds() * 1e3 - revolution_ms).abs() < 1e-9,
            "{name}"
        );
        assert_eq!(model.figures().unverified(), unverified, "{name}");
    }
}

fn parse(text: &str) -> Result<DeviceModel, Error> {
    Figures::parse(text, "bad.toml").and_then(DeviceModel::new)
}

const DRUM: &str = r#"
name = "a drum"
kind = "drum"
note = ""

[figures]
cylinders = { value = 96, source = "s" }
heads = { value = 8, source = "s" }
sectors = { value = 90, source = "s" }
pages_per_track = { value = 3, source = "s" }
rotation_ms = { value = 10.0, source = "s" }
rate_bytes_per_s = { value = 1_500_000, source = "s" }
exposures = { value = 8, source = "s" }
"#;

#[test]
fn wrong_files_are_refused_with_the_file_the_place_and_a_remedy() {
    parse(DRUM).unwrap();
    for (from, to, place) in [
        (
            "kind = \"drum\"",
            "kind = \"\\u001b[31mtape\"",
            "kind \"\\u{1b}[31mtape\" is not known",
        ),
        ("exposures =", "exposure =", "figures.exposure is not known"),
        (
            "exposures = { value = 8, source = \"s\" }",
            "",
            "figures.exposures is missing",
        ),
        (
            "sectors = { value = 90, source = \"s\" }",
            "",
            "figures.sectors is missing",
        ),
        ("value = 96", "value = 96.5", "figures.cylinders is 96.5"),
        ("value = 96", "value = 1e300", "figures.cylinders is 1000"),
        ("value = 96", "value = nan", "figures.cylinders is NaN"),
        ("value = 10.0", "value = -10.0", "figures.rotation_ms is -10"),
        (
            "value = 10.0",
            "value = 5.0",
            "do not fit into a revolution of 5.000 ms",
        ),
        (
            "heads = { value = 8",
            "heads = { value = 10001",
            "figures.heads is 10001",
        ),
        ("value = 1_500_000", "value = \"fast\"", "line 12"),
        ("value = 8, source = \"s\"", "value = 8", "line 8"),
        (
            "value = 8, source = \"s\"",
            "value = 8, source = \" \"",
            "has no source",
        ),
        ("note = \"\"", "note = \"\"\ncolour = 1", "line 5"),
    ] {
        assert!(DRUM.contains(from), "{from}");
        let error = parse(&DRUM.replacen(from, to, 1)).expect_err(to);
        assert!(error.message.starts_with("bad.toml"), "{error}");
        assert!(error.message.contains(place), "{error}");
        assert!(!error.hint.is_empty(), "{error}");
    }
    let fast = DRUM
        .replace("value = 1_500_000", "value = 1e12")
        .replace("value = 3,", "value = 20,");
    let fast = fast.replace("sectors = { value = 90", "sectors = { value = 9000");
    parse(&fast).unwrap();
    let error = parse(&fast.replace("value = 8,", "value = 8000,")).unwrap_err();
    assert!(
        error.message.contains("figures.heads makes 160000 page slots"),
        "{error}"
    );
}

#[test]
fn a_disk_needs_seek_figures_that_fit_together() {
    let disk = DRUM
        .replace("\"drum\"", "\"disk\"")
        .replace("exposures = { value = 8, source = \"s\" }", "");
    let with = |min: f64, mean: f64, max: f64| {
        let seek = [("min", min), ("mean", mean), ("max", max)];
        let lines = seek.map(|(which, ms)| format!("seek_{which}_ms = {{ value = {ms}, source = \"s\" }}\n"));
        parse(&format!("{disk}{}", lines.concat()))
    };
    with(3.0, 16.0, 30.0).unwrap();
    let error = with(3.0, 29.0, 30.0).unwrap_err();
    assert!(
        error
            .message
            .starts_with("bad.toml: seek times 3, 29, 30 ms over 96 cylinders"),
        "{error}"
    );
    assert!(
        parse(&disk)
            .unwrap_err()
            .message
            .contains("seek_min_ms is missing")
    );
}

#[test]
fn what_is_not_a_file_is_refused() {
    for path in ["/dev/zero", "/", "no/such/device.toml"] {
        let error = Figures::read(path.as_ref()).expect_err(path);
        assert!(error.message.starts_with(path), "{error}");
    }
}
