use super::*;
use proptest::prelude::*;

fn network(latency_us: f64, iops: f64) -> Disk {
    Network {
        latency_us,
        write_latency_us: None,
        iops,
        bytes_per_second: 125e6,
    }
    .disk()
    .unwrap()
}

fn rotating() -> Disk {
    let disk = Rotating {
        rpm: 7200.0,
        track_bytes: 1e6,
        settle_ms: 0.8,
        stroke_ms: 15.0,
        whole_bytes: 1e12,
    };
    disk.disk().unwrap()
}

/// Time of `requests`, each begun when the one before is done.
fn one_by_one(disk: &mut Disk, requests: impl Iterator<Item = Request>) -> f64 {
    let mut now = 0;
    for request in requests {
        now = disk.begin(now.max(disk.free_ns()), request);
    }
    now as f64 / 1e6
}

fn page(number: u64) -> Request {
    Request {
        offset: number * 4096,
        bytes: 4096,
        write: false,
    }
}

#[test]
fn a_network_disk_begins_no_more_than_its_limit() {
    let mut disk = network(300.0, 500.0);
    let mut begun = 0;
    while disk.free_ns() < 1_000_000_000 {
        disk.begin(disk.free_ns(), page(begun));
        begun += 1;
    }
    assert_eq!(begun, 500);
}

#[test]
fn a_write_may_have_a_latency_of_its_own() {
    let made = Network {
        latency_us: 500.0,
        write_latency_us: Some(4000.0),
        iops: 1e6,
        bytes_per_second: 125e6,
    };
    let mut disk = made.disk().unwrap();
    let times = [false, true].map(|write| {
        let begun = disk.free_ns();
        disk.begin(begun, Request { write, ..page(0) }) - begun
    });
    assert!((530_000..540_000).contains(&times[0]));
    assert_eq!(times[1] - times[0], 3_500_000);
    let wrong = Network {
        write_latency_us: Some(0.0),
        ..made
    };
    assert!(wrong.disk().unwrap_err().contains("write-latency-us"));
}

#[test]
fn a_latency_is_shared_and_a_large_request_counts_as_several() {
    let mut disk = network(1000.0, 1e6);
    let done = disk.begin(0, page(0));
    assert!(disk.free_ns() < 100_000);
    assert!((1_000_000..1_100_000).contains(&done));
    let mut disk = network(1.0, 100.0);
    disk.begin(
        0,
        Request {
            offset: 0,
            bytes: 1 << 20,
            write: false,
        },
    );
    assert_eq!(disk.free_ns(), 40_000_000);
}

#[test]
fn a_head_reads_on_at_the_rate_of_its_turns() {
    let mut disk = rotating();
    disk.begin(0, page(0));
    let from = disk.free_ns();
    let mut now = from;
    for number in 1..=1000 {
        now = disk.begin(now, page(number));
    }
    // 4,096,000 bytes at 120 MB/s.
    assert!((34.0..34.3).contains(&((now - from) as f64 / 1e6)));
}

#[test]
fn a_page_at_random_costs_a_seek_and_half_a_turn() {
    let mut at = 1u64;
    let requests = (0..2000).map(move |_| {
        at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        page((at >> 33) % 500_000)
    });
    let mean_ms = one_by_one(&mut rotating(), requests) / 2000.0;
    // 0.8 settling, about 0.4 of way over 2 GB, 4.17 of half a turn.
    assert!((5.2..5.8).contains(&mean_ms), "{mean_ms}");
}

#[test]
fn what_is_skipped_ahead_passes_under_the_head() {
    let mut disk = rotating();
    disk.begin(0, page(0));
    let from = disk.free_ns();
    let done = disk.begin(from, page(11));
    // Ten pages passed and one transferred, of 244 in a turn of 8.33 ms.
    assert!((0.37..0.38).contains(&((done - from) as f64 / 1e6)));
}

#[test]
fn the_sweep_goes_up_and_begins_again_at_the_lowest() {
    let mut disk = rotating();
    disk.begin(0, page(100));
    assert_eq!(disk.next(&[page(500), page(99), page(102), page(3)]), 2);
    assert_eq!(disk.next(&[page(99), page(3), page(50)]), 1);
}

#[test]
fn a_figure_that_is_none_is_refused() {
    for iops in [0.0, -1.0, f64::NAN] {
        assert!(
            Network {
                latency_us: 1.0,
                write_latency_us: None,
                iops,
                bytes_per_second: 1.0
            }
            .disk()
            .unwrap_err()
            .contains("--iops")
        );
    }
}

proptest! {
    #[test]
    fn nothing_is_done_before_it_is_begun(pages in prop::collection::vec((0u64..1 << 20, 1u32..64), 1..50), pause in 0u64..20_000_000) {
        for mut disk in [network(300.0, 3000.0), rotating()] {
            let mut now = 0;
            for &(number, length) in &pages {
                now = disk.free_ns().max(now) + pause;
                let done = disk.begin(now, Request { offset: number * 4096, bytes: length * 4096, write: length % 2 == 0 });
                prop_assert!(done > now);
                prop_assert!(disk.free_ns() > now);
            }
        }
    }
}
