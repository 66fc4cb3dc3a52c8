//! What modern systems do, in machine files: tables within `[paging]`.

use crate::support::files::{machine, machine_path, text};

#[test]
fn wrong_tables_are_refused_with_the_key_and_a_remedy() {
    let good = text(&machine_path("3081D"));
    #[rustfmt::skip]
    let cases = [
        ("readahead = { pages = 1 }", "readahead.pages is 1", "give a value from 2 to 64"),
        ("readahead = { pages = 8, by = \"slots\" }", "readahead.by is \"slots\"", "did you mean slot"),
        ("readahead = { pages = 8, window = \"fix\" }", "window is \"fix\"", "fixed"),
        ("record_and_prefetch = { }", "most_pages is missing", "add most_pages"),
        ("record_and_prefetch = { most_pages = \"some\" }", "most_pages is \"some\"", "give one of all"),
        ("migration = { interval_s = 60, pages = 40 }", "migration has nowhere to go", "another tier"),
        ("migration = { pages = 40 }", "interval_ms is missing", "add interval_ms"),
        ("compression = { pages_per_frame = 3 }", "pages_per_frame has no source", "value = 3"),
        ("sampling = { interval_s = 2, idle_samples = 5 }", "sampling is there, and replacement is \"core-table-scan\"", "working-set-sampling"),
    ];
    for (line, why, hint) in cases {
        let wrong = good.replace("[paging]\n", &format!("[paging]\n{line}\n"));
        assert_ne!(wrong, good);
        let error = machine(&wrong, &[]).expect_err(line);
        assert!(error.message.contains(why), "{line}: {error}");
        assert!(error.hint.contains(hint), "{line}: {error}");
    }
}

#[test]
fn modern_peers_stand_beside_no_swapping_and_compression_where_it_is_used() {
    let tiered = text(&machine_path("3081D-tiered"));
    let file = machine(&tiered, &[]).unwrap();
    let peers = &file.machine.paging.peers;
    assert_eq!(
        (
            peers.migration.unwrap().pages,
            peers.compression.unwrap().pages_per_frame
        ),
        (200, 3.0)
    );
    let wrong = |text: &str, key: &str, value: &str| {
        let error = machine(text, &[(key, value)]).unwrap_err();
        format!("{error}")
    };
    let swapping = text(&machine_path("3081D-swapping"));
    let found = wrong(&swapping, "paging.readahead", "{ pages = 8 }");
    assert!(
        found.contains("paging.readahead stands beside a table [swapping]"),
        "{found}"
    );
    let found = wrong(&tiered, "paging_area.0.cylinders", "1000");
    assert!(found.contains("of which compressed pages take 21334"), "{found}");
    let none = tiered.replace("[paging.compression]", "[paging.compressions]");
    let error = machine(&none, &[]).unwrap_err();
    assert!(error.message.contains("compression"), "{error}");
    let base = text(&machine_path("3081D"));
    let figures = "{ pages_per_frame = { value = 3, source = \"s\" }, compress_page_us = { value = 9, source = \"s\" }, \
                   decompress_page_us = { value = 9, source = \"s\" } }";
    let found = wrong(&base, "paging.compression", figures);
    assert!(
        found.contains("compression stands where nothing is compressed"),
        "{found}"
    );
}
