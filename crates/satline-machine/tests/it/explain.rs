//! What explain prints, and that the reference page names every key.

use std::collections::BTreeSet;

use crate::support::files::{self, machines, root, shipped, text, workload_path};
use satline_machine::configuration::explain;
use satline_machine::configuration::read::{machine_file, workload_file};
use toml::Value;

fn what(table: &str, name: &str) -> Option<String> {
    (table == "slot").then(|| format!("what {name} does"))
}

#[test]
fn every_figure_is_shown_with_what_stands_behind_it_at_80_columns() {
    for path in machines() {
        let file = machine_file(&path, &[]).unwrap();
        let shown = explain::machine(&file, &what);
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", path.display());
        }
        for figure in file
            .figures
            .iter()
            .filter(|figure| !figure.key.starts_with("device."))
        {
            let key = figure.key.rsplit('.').next().unwrap();
            let is_it = |line: &str| line.contains(key) && line.contains(&figure.value);
            assert!(
                figure.key.starts_with("paging_area.") || shown.lines().any(is_it),
                "{}",
                figure.key
            );
        }
        assert!(
            shown.contains(&format!("what {} does", file.machine.policies.slot))
                && shown.contains("service of one page")
        );
    }
    for path in shipped("workloads/simulated") {
        let file = workload_file(&path, &[]).unwrap();
        let shown = explain::workload(&file, None);
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{}",
            path.display()
        );
        for class in &file.workload.classes {
            assert!(shown.contains(&class.name));
        }
    }
}

#[test]
fn doubts_and_settings_are_marked() {
    let sets = [
        ("storage.bytes", "33554432"),
        ("paging.write_unchanged", "true"),
        ("paging.periodic_scan", "{ interval_s = 4, part = 0.125 }"),
        ("policies.queue_drop", "flush-fifo"),
    ];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string()));
    let file = machine_file(&root().join("machines/3081D.toml"), &sets).unwrap();
    let shown = explain::machine(&file, &what);
    let line = |key: &str| shown.lines().find(|line| line.contains(key)).unwrap();
    assert!(line("pageable_frames").starts_with("? "));
    assert!(line("q1_frames_factor").starts_with("  ") && line("q1_frames_factor").contains("[T87]"));
    assert!(line(" bytes ").contains("33554432") && line(" bytes ").contains("set for this run"));
    assert!(line("write_unchanged").contains("true") && line("write_unchanged").contains("set for this run"));
    assert!(line("interval_s").contains('4') && line(" part ").contains("0.125"));
    assert!(line(" queue_drop ").contains("flush-fifo"));
    assert!(line(" exposures  ").starts_with("? "));
    assert!(line("dispatch_instructions").contains("350 = 74.683 µs"));
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("exposures used: 1; chains across cylinders"),
        "{shown}"
    );
    // A 2305-2: half of 10 ms, a page at 1.5 MB/s and the search before it.
    assert!(shown.contains("seek 0.00 + latency 5.00 + path 2.89"), "{shown}");
    let marked = shown.lines().filter(|line| line.starts_with("? ")).count() - 1;
    assert_eq!(marked, file.machine.unverified.len());
}

#[test]
fn a_hostile_text_does_not_reach_the_terminal() {
    let good = text(&workload_path("cms"));
    let bad = good.replacen("note = \"\"\"", "note = \"\"\"\\u001b[31mred\\u0007 ", 1);
    let shown = explain::workload(&files::workload(&bad, &[]).unwrap(), None);
    assert!(!shown.contains(['\u{1b}', '\u{7}']) && shown.contains("\\u{1b}[31mred\\u{7}"));
}

#[test]
fn the_demands_of_a_mean_transaction_follow_the_machine() {
    let machine = machine_file(&root().join("machines/3081D.toml"), &[])
        .unwrap()
        .machine;
    let file = workload_file(&workload_path("tso310"), &[]).unwrap();
    // What a calibration made of them, by their weights: of the 158-3 first, then here.
    let stated: Value = toml::from_str(&text(&workload_path("tso310"))).unwrap();
    let kinds = stated["class"][0]["transaction"].as_array().unwrap();
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap();
    let weights: f64 = kinds.iter().map(|kind| number(&kind["weight"]["value"])).sum();
    let mean = |of: &dyn Fn(&Value) -> f64| {
        let parts = kinds
            .iter()
            .map(|kind| number(&kind["weight"]["value"]) * of(kind));
        parts.sum::<f64>() / weights
    };
    let cpu = |kind: &Value| number(&kind["cpu_ms"]["lognormal"]["mean"]);
    let ios = mean(&|kind| cpu(kind) / number(&kind["cpu_between_ios_ms"]["value"]));
    let there = explain::workload(&file, None);
    assert!(
        there.contains(&format!("{:.1} ms", mean(&cpu))) && there.contains(&format!("{ios:.1} I/Os")),
        "{there}"
    );
    let here = format!("{:.1} ms", mean(&cpu) / machine.processors.speed);
    assert!(explain::workload(&file, Some(&machine)).contains(&here), "{here}");
}

#[test]
fn the_reference_page_names_every_key_of_every_shipped_file() {
    let page = text(&root().join("docs/reference/machine-files.md"));
    let mut keys = BTreeSet::new();
    for path in shipped("machines")
        .into_iter()
        .chain(shipped("workloads/simulated"))
    {
        let file: Value = toml::from_str(&text(&path)).unwrap();
        collect(&file, "", &mut keys);
    }
    assert!(keys.len() > 70);
    for key in keys {
        assert!(
            page.contains(&format!("`{key}`")),
            "{key} is not in machine-files.md"
        );
    }
}

fn collect(value: &Value, under: &str, keys: &mut BTreeSet<String>) {
    match value {
        // Tables have headings of their own; models are names.
        Value::Table(entries) => {
            for (key, inner) in entries {
                let heading = matches!(inner, Value::Table(figure) if !figure.contains_key("value"));
                let list = matches!(inner, Value::Array(rows) if rows.iter().any(Value::is_table));
                let distribution = ["lognormal", "hyperexponential"].contains(&key.as_str());
                let in_form = ["lognormal", "hyperexponential"].contains(&under);
                if (!heading && !list && !in_form) || distribution || key == "think_s" || key == "cpu_ms" {
                    keys.insert(key.clone());
                }
                collect(inner, key, keys);
            }
        }
        Value::Array(rows) => rows.iter().for_each(|row| collect(row, under, keys)),
        _ => {}
    }
}
