//! Table `[swapping]` and the purposes of paging areas, in machine files.

use crate::support::files::{machine, machine_path, text};
use satline_machine::configuration::{PhysicalOrder, Prepage, Purpose, SwapFaults, explain};

fn with(sets: &[(&str, &str)]) -> Result<satline_machine::configuration::Machine, String> {
    let file = machine(&text(&machine_path("3081D-swapping")), sets);
    file.map(|file| file.machine)
        .map_err(|error| format!("{} {}", error.message, error.hint))
}

#[test]
fn the_shipped_prototype_is_what_the_spec_says() {
    let machine = with(&[]).unwrap();
    let plan = machine.swapping.unwrap();
    assert_eq!((plan.set_pages, plan.minimum_working_set), (8, 16));
    assert!(plan.trim && plan.logical);
    assert_eq!(
        (plan.physical_order, plan.swap_faults),
        (PhysicalOrder::Q2First, SwapFaults::Set)
    );
    assert_eq!(
        (plan.prepage_interactive, plan.prepage_noninteractive),
        (Prepage::Sets(2), Prepage::Sets(0))
    );
    let on = |purpose, kind: &str| {
        let areas = machine
            .paging
            .areas
            .iter()
            .filter(|area| area.purpose == purpose && area.tier == 0);
        let units = areas.map(|area| &machine.devices[area.device]);
        let units: Vec<_> = units.filter(|unit| unit.model.figures().name == kind).collect();
        let channels: std::collections::BTreeSet<u16> = units.iter().map(|unit| unit.paths[0].1).collect();
        (units.len(), channels.len())
    };
    assert_eq!(
        (on(Purpose::Swap, "3380"), on(Purpose::Paging, "2305-2")),
        ((6, 3), (2, 1))
    );
}

#[test]
fn every_part_can_be_set_for_a_run() {
    let plan = |sets: &[(&str, &str)]| with(sets).unwrap().swapping.unwrap();
    assert_eq!(
        plan(&[("swapping.prepage_interactive_sets", "\"all\"")]).prepage_interactive,
        Prepage::All
    );
    assert_eq!(
        plan(&[("swapping.prepage_noninteractive_sets", "3")]).prepage_noninteractive,
        Prepage::Sets(3)
    );
    assert_eq!(
        plan(&[("swapping.physical_order", "fifo")]).physical_order,
        PhysicalOrder::Fifo
    );
    assert_eq!(
        plan(&[("swapping.swap_faults", "page")]).swap_faults,
        SwapFaults::Page
    );
    assert!(!plan(&[("swapping.trim", "false")]).trim && !plan(&[("swapping.logical", "false")]).logical);
}

#[test]
fn what_is_left_out_has_its_default_and_no_table_swaps_nothing() {
    let shipped = text(&machine_path("3081D-swapping"));
    let keys = [
        "set_pages = ",
        "minimum_working_set_pages = 1",
        "trim",
        "logical",
        "physical_order",
        "prepage_",
        "swap_faults",
    ];
    let kept = |line: &&str| !keys.iter().any(|key| line.starts_with(key));
    let bare: Vec<&str> = shipped.lines().filter(kept).collect();
    let plan = machine(&bare.join("\n"), &[]).unwrap().machine.swapping;
    assert_eq!(plan, with(&[]).unwrap().swapping);
    let base = machine(&text(&machine_path("3081D")), &[]).unwrap().machine;
    assert!(base.swapping.is_none());
}

#[test]
fn wrong_input_names_the_key_and_the_remedy() {
    let refused = |sets: &[(&str, &str)], parts: &[&str]| {
        let error = with(sets).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    refused(
        &[("swapping.set_pages", "33")],
        &["swapping.set_pages is 33", "1 to 32"],
    );
    refused(
        &[("swapping.set_page", "8")],
        &["swapping.set_page is not known", "did you mean set_pages?"],
    );
    refused(
        &[("swapping.physical_order", "q2first")],
        &["is \"q2first\"", "did you mean q2-first?"],
    );
    refused(
        &[("swapping.physical_order", "3")],
        &["is a number", "q2-first, fifo, q1-first"],
    );
    refused(
        &[("swapping.prepage_interactive_sets", "\"some\"")],
        &["is \"some\"", "all"],
    );
    refused(
        &[("swapping.trim", "1")],
        &["swapping.trim is a number", "true or false"],
    );
    refused(
        &[("paging_area.1.purpose", "swop")],
        &["purpose is \"swop\"", "did you mean swap?"],
    );
    let only_sets = [
        ("paging_area.0.purpose", "swap"),
        ("paging_area.2.purpose", "swap"),
    ];
    refused(
        &only_sets,
        &["only areas for swapping", "single pages need a place"],
    );
    let base = text(&machine_path("3081D"));
    let error = machine(&base, &[("paging_area.0.purpose", "any")]).unwrap_err();
    assert!(
        error.message.contains("no table [swapping]") && error.hint.contains("[swapping]"),
        "{error}"
    );
    // A drum's cylinder has 24 slots.
    let drum = [("swapping.set_pages", "32"), ("paging_area.0.purpose", "any")];
    refused(&drum, &["swapping.set_pages is 32", "drum-1 has 24 slots"]);
}

#[test]
fn explain_shows_every_part_also_those_by_default() {
    let sets = [("swapping.prepage_interactive_sets", "\"all\"")];
    let file = machine(&text(&machine_path("3081D-swapping")), &sets).unwrap();
    let shown = explain::machine(&file, &|_, _| None);
    let has = |parts: &[&str]| {
        shown
            .lines()
            .any(|line| parts.iter().all(|part| line.contains(part)))
    };
    assert!(
        has(&["trim", "true"]) && has(&["physical_order", "q2-first"]),
        "{shown}"
    );
    assert!(
        has(&["prepage_interactive_sets", "all", "set for this run"]),
        "{shown}"
    );
    assert!(
        has(&["swap-a-1", "3000 pages"]) && has(&["swap, tier 0, cylinders 430 to 449"]),
        "{shown}"
    );
}
