//! The monitor against a false /proc and /sys: every field of every table.

mod common;
mod false_host;

use std::cell::Cell;
use std::fs;

use clap::Parser;
use common::rows;
use false_host::{FalseClock, SECOND, false_host, put, record, second};
use satline_monitor::monitor::{End, Monitor};
use satline_monitor::options::Options;

#[test]
fn every_field_of_the_host() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    false_host(root);
    second(root, 0);
    assert_eq!(
        record(
            root,
            "1s",
            &["--load-cgroup", "/load", "--cgroup", "absent=/absent"]
        ),
        End::Complete
    );
    let recording = root.join("r.satline");
    // SAFETY: takes no pointers.
    let page_bytes = 25 * unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let system = rows(&recording, "system");
    assert_eq!(system.len(), 2);
    assert_eq!(system[0].int("time_ns"), Some((1_795_251_600 + 100) * SECOND));
    assert_eq!(
        (system[1].int("monotonic_ns"), system[1].int("run")),
        (Some(101 * SECOND), Some(1))
    );
    let varying = ["monitor_cpu_us=", "monitor_written_bytes=", "sample_cpu_us="];
    let told: Vec<_> = system[0]
        .told()
        .into_iter()
        .filter(|t| !varying.iter().any(|v| t.starts_with(v)))
        .collect();
    let expected = [
        "sample=0",
        "lateness_us=0",
        &format!("monitor_rss_bytes={page_bytes}"),
        "context_switches=1234",
        "interrupts=321",
        "forks=55",
        "tasks_runnable=2",
        "tasks_blocked=1",
        "load_average_1=1.25",
        "tasks_total=345",
        "users_logged_on=1",
        "users_in_queue=0",
        "mem_total_bytes=1024000",
        "mem_free_bytes=204800",
        "mem_available_bytes=307200",
        "cached_bytes=30720",
        "anonymous_bytes=30720",
        "dirty_bytes=4096",
        "slab_bytes=51200",
        "swap_total_bytes=614400",
        "swap_free_bytes=512000",
        "swap_in_pages=1",
        "swap_out_pages=2",
        "page_faults=3",
        "major_faults=4",
        "block_in_bytes=5120",
        "block_out_bytes=6144",
        "refault_anonymous_pages=7",
        "refault_file_pages=8",
        "steal_background_pages=9",
        "steal_direct_pages=10",
        "scan_direct_pages=11",
        "out_of_memory_kills=12",
        "zswap_in_pages=13",
        "zswap_out_pages=14",
        "lock_wait_us=0",
        "pressure_cpu_some_us=101",
        "pressure_memory_some_us=102",
        "pressure_memory_full_us=103",
        "pressure_io_some_us=104",
        "pressure_io_full_us=105",
    ];
    assert_eq!(told, expected);

    let told = |table: &str| {
        rows(&recording, table)
            .iter()
            .map(|row| row.told().join(" "))
            .collect::<Vec<_>>()
    };
    // SAFETY: takes no pointers.
    let hundredths: fn(i64) -> i64 = |ticks| ticks * 1_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let [user, nice, irq, guest] = [910, 190, 13, 100].map(hundredths);
    let [system_us, idle, iowait, steal] = [300, 4000, 50, 8].map(hundredths);
    assert_eq!(
        told("processor")[0],
        format!(
            "processor=\"0\" user_us={user} nice_us={nice} system_us={system_us} irq_us={irq} idle_us={idle} \
             iowait_us={iowait} steal_us={steal} guest_us={guest}"
        )
    );
    assert_eq!(
        told("device")[..4],
        [
            "device=\"vda\" device_kind=\"block\" reads=1 read_bytes=1536 read_wait_us=4000 writes=5 write_bytes=3584 \
             write_wait_us=8000 in_flight=9 busy_us=10000 queue_us=11000",
            "device=\"zram0\" device_kind=\"zram\" reads=21 read_bytes=11264 read_wait_us=23000 writes=24 \
             write_bytes=12800 write_wait_us=26000 in_flight=27 busy_us=28000 queue_us=29000 size_bytes=8192 \
             used_bytes=4000 stored_bytes=3000",
            "device=\"/var/my swap\" device_kind=\"swap\" size_bytes=102400 used_bytes=40960 priority=-2",
            "device=\"eth0\" device_kind=\"network\" reads=12 read_bytes=11 writes=14 write_bytes=13 errors=10",
        ]
    );
    assert_eq!(told("device").len(), 8, "unused devices are left out");
    let named = "cgroup=\"load\" cpu_us=1000 cpu_user_us=600 cpu_system_us=400 quota_periods=5 quota_throttled_periods=2 \
         quota_throttled_us=7 quota_limit_millicpu=250 memory_bytes=111 memory_limit_bytes=222 swap_bytes=4 \
         anonymous_bytes=5 file_bytes=6 limit_hits=3 major_faults=7 refault_pages=17 reads=4 read_bytes=10 writes=2 \
         write_bytes=20 read_limit_per_second=400 read_limit_bytes_per_second=1000 \
         write_limit_bytes_per_second=2000 pressure_cpu_some_us=61 \
         pressure_memory_some_us=62 pressure_memory_full_us=63 pressure_io_some_us=64 pressure_io_full_us=65";
    let found = "cgroup=\"/limited\" quota_limit_millicpu=500";
    assert_eq!(told("cgroup"), [named, found, named, found]);
    let lock = |us| format!("lock=\"posix fe:00:77\" wait_us={us} hold_us={us}");
    assert_eq!(told("lock"), [lock(0), lock(1_000_000)]);
    assert_eq!(system[1].int("lock_wait_us"), Some(1_000_000));
    let description: toml::Table = fs::read_to_string(recording.join("recording.toml"))
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(description["system_under_test"]["cgroup"].as_str(), Some("load"));
    let source: toml::Table = fs::read_to_string(recording.join("sources/monitor.toml"))
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(source["end_reason"].as_str(), Some("complete"));
    assert_eq!(source["sampling"]["samples"].as_integer(), Some(2));
    assert_eq!(source["methods"]["exits"].as_str(), Some("waited-children"));
    let missing: Vec<_> = source["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["signal"].as_str().unwrap())
        .collect();
    let ends = "user: tasks that end between samples, exactly";
    assert_eq!(
        missing,
        [
            ends,
            "user.io_delay_us",
            "user.page_delay_us",
            "pressure_irq_full_us",
            "device: NFS by mount"
        ]
    );
    let head: toml::Table = fs::read_to_string(recording.join("recording.toml"))
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(head["recording"]["creator"].as_str(), Some("satline-monitor"));
    assert_eq!(head["recording"]["end_reason"].as_str(), Some("complete"));
    assert_eq!(head["host"]["name"].as_str(), Some("false"));
}

#[test]
fn users_and_tasks_as_they_change() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    false_host(root);
    second(root, 0);
    put(root, "users", "50\tann\n");
    let users = format!("emulated:{}", root.join("users").display());
    record(root, "4s", &["--users", &users]);
    let recording = root.join("r.satline");
    let ann: Vec<String> = rows(&recording, "user")
        .iter()
        .map(|row| row.told().join(" "))
        .filter(|t| t.contains("ann"))
        .collect();
    // SAFETY: takes no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let row = |levels: [i64; 4],
               cpu: i64,
               system: i64,
               delay: i64,
               faults: [i64; 2],
               read: i64,
               pages: i64,
               exits: i64| {
        let [processes, runnable, page, io] = levels;
        let [major, minor] = faults;
        let group = if processes == 1 {
            " cgroup=\"/limited\""
        } else {
            ""
        };
        format!(
            "user=\"ann\" processes={processes} tasks_runnable={runnable} tasks_page_wait={page} tasks_io_wait={io} \
             tasks_lock_wait=1 \
             cpu_us={cpu} cpu_system_us={system} run_delay_us={delay} major_faults={major} minor_faults={minor} \
             read_bytes={read} write_bytes=0 resident_bytes={} exits={exits}{group}",
            pages * page_bytes
        )
    };
    // SAFETY: takes no pointers.
    let tick = 1_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    assert_eq!(
        ann,
        [
            row([1, 0, 0, 0], 0, 0, 0, [0, 0], 0, 4, 0),
            // The shell 150 ms and 5 ticks; the server, which has several threads whose ends nobody tells, by ticks.
            row(
                [2, 1, 1, 0],
                150_000 + 4 * tick,
                6 * tick,
                5_000,
                [12, 39],
                8192,
                6,
                0
            ),
            row(
                [2, 1, 0, 1],
                150_000 + 52 * tick,
                6 * tick,
                5_000,
                [12, 45],
                8192,
                6,
                0
            ),
            row(
                [1, 0, 0, 1],
                150_000 + 52 * tick,
                6 * tick,
                5_000,
                [12, 45],
                8192,
                4,
                1
            ),
            row(
                [1, 0, 0, 1],
                150_000 + 52 * tick,
                6 * tick,
                5_000,
                [12, 45],
                8192,
                4,
                1
            ),
        ]
    );
    let tasks: Vec<String> = rows(&recording, "task")
        .iter()
        .map(|row| row.told().join(" "))
        .collect();
    let busy = "pid=60 tid=60 start_ticks=900 user=\"ann\" name=\"se(rv) er\" cpu_us=430000 run_delay_us=1000 state=\"R\"";
    assert_eq!(
        tasks,
        [busy],
        "the shell used less than a fifth; the server has gone when its second row is due"
    );
    let names: Vec<_> = rows(&recording, "user")
        .iter()
        .filter_map(|r| r.text("user").map(str::to_owned))
        .collect();
    assert!(
        names.contains(&"_kernel".to_owned()) && !names.contains(&"_host".to_owned()),
        "{names:?}"
    );
    let events: Vec<String> = rows(&recording, "event")
        .iter()
        .map(|row| row.told().join(" "))
        .collect();
    assert_eq!(events, ["source=\"monitor\" event=\"clock-step\" value=5"]);
}

#[test]
fn devices_that_come_and_go_are_events_and_a_second_run_continues() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    false_host(root);
    record(root, "1s", &[]);
    record(root, "1s", &[]);
    let recording = root.join("r.satline");
    let runs: Vec<_> = rows(&recording, "system")
        .iter()
        .map(|r| (r.int("run").unwrap(), r.int("sample").unwrap()))
        .collect();
    assert_eq!(runs, [(1, 0), (1, 1), (2, 0), (2, 1)]);
    assert!(rows(&recording, "event").is_empty());
    let options = Options::parse_from([
        "satline-monitor",
        "--recording",
        &recording.display().to_string(),
        "--proc",
        &root.join("proc").display().to_string(),
        "--sys",
        &root.join("sys").display().to_string(),
        "--etc",
        "/nonexistent",
        "--duration",
        "2s",
        "--ordinary-priority",
    ]);
    let change = |n: i64| {
        let swaps = ["", "Filename\n/dev/new partition 8 0 1\n", "Filename\n"];
        put(root, "proc/swaps", swaps[usize::try_from(n).unwrap().min(2)]);
    };
    let clock = FalseClock {
        now_ns: Cell::new(100 * SECOND),
        at_second: &change,
    };
    Monitor::open(options, clock).unwrap().run(|| None).unwrap();
    let events: Vec<String> = rows(&recording, "event")
        .iter()
        .map(|row| row.told()[1..].join(" "))
        .collect();
    assert_eq!(
        events,
        [
            "event=\"device-appeared\" text=\"/dev/new (swap)\"",
            "event=\"device-gone\" text=\"/var/my swap (swap)\"",
            "event=\"device-gone\" text=\"/dev/new (swap)\"",
        ]
    );
}

/// Every byte of a recording's files, and every text of its rows.
fn all_text(recording: &std::path::Path) -> String {
    let mut found = String::new();
    let mut directories = vec![recording.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let table = path.file_name().unwrap().to_str().unwrap().to_owned();
                if path.parent().is_some_and(|p| p.ends_with("segments")) {
                    for row in rows(recording, &table) {
                        found.push_str(&row.told().join(" "));
                        found.push('\n');
                    }
                }
                directories.push(path);
            } else {
                found.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn no_name_is_written_where_names_are_replaced() {
    const SECRET: &str = "Zq0Xw1Jk";
    let key = "satline-key-1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    let host = |words: &[&str]| {
        let root = tempfile::tempdir().unwrap();
        false_host(root.path());
        second(root.path(), 0);
        // SAFETY: takes no pointers.
        let uid = unsafe { libc::getuid() };
        put(
            root.path(),
            "etc/passwd",
            &format!("{SECRET}:x:{uid}:0::/:/bin/sh\n"),
        );
        put(
            root.path(),
            "proc/sys/kernel/hostname",
            &format!("{SECRET}.example\n"),
        );
        put(root.path(), "proc/sys/kernel/random/boot_id", SECRET);
        put(root.path(), "key", key);
        let path = root.path().join("key");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let path = path.to_str().unwrap();
        let words: Vec<_> = words
            .iter()
            .map(|word| if *word == "KEY" { path } else { word })
            .collect();
        let groups = format!("{SECRET}=/load");
        record(root.path(), "4s", &[&["--cgroup", &groups][..], &words].concat());
        root
    };
    let (plain, replaced) = (host(&[]), host(&["--pseudonymise", "KEY"]));
    let (plain, replaced) = (plain.path().join("r.satline"), replaced.path().join("r.satline"));
    let told = all_text(&plain);
    for name in [SECRET, "/var/my swap", "/limited"] {
        assert!(told.contains(name), "{name}");
    }
    let told = all_text(&replaced);
    for name in [SECRET, "my swap", "limited"] {
        assert!(!told.contains(name), "{name}: {told}");
    }
    // All else is the same: figures, the kernel's own names, Satline's.
    for table in [
        "system",
        "processor",
        "device",
        "cgroup",
        "user",
        "task",
        "lock",
        "event",
    ] {
        let figures = |recording: &std::path::Path| -> Vec<_> {
            let told = rows(recording, table).into_iter().map(|row| row.told());
            let own = [
                "monitor_",
                "sample_cpu_us",
                "device=\"/var",
                "cgroup=",
                "user=",
                "name=",
            ];
            told.map(|told| {
                let kept = told
                    .into_iter()
                    .filter(|one| !own.iter().any(|begin| one.starts_with(begin)));
                kept.filter(|one| !one.starts_with("device=\"/p-"))
                    .collect::<Vec<_>>()
            })
            .collect()
        };
        assert_eq!(figures(&plain), figures(&replaced), "{table}");
    }
    let users = |recording: &std::path::Path| -> Vec<_> {
        let rows = rows(recording, "user");
        rows.iter()
            .map(|row| row.text("user").unwrap().to_owned())
            .collect()
    };
    let key = satline_recording::Key::read(&replaced.parent().unwrap().join("key")).unwrap();
    let wanted = |name: &String| match name.as_str() {
        SECRET => key.pseudonym(SECRET),
        own => own.to_owned(),
    };
    assert_eq!(
        users(&plain).iter().map(wanted).collect::<Vec<_>>(),
        users(&replaced)
    );
    let description = fs::read_to_string(replaced.join("recording.toml")).unwrap();
    let description: toml::Table = description.parse().unwrap();
    assert_eq!(description["pseudonyms"]["key"].as_str(), Some(key.id().as_str()));
    let sealed = fs::read_to_string(replaced.join("names.sealed")).unwrap();
    assert!(sealed.contains(&key.sealed(&key.pseudonym(SECRET), SECRET)));
}

#[test]
fn a_recording_is_gone_on_with_as_it_was_begun() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    false_host(root);
    second(root, 0);
    record(root, "1s", &[]);
    put(root, "key", &format!("satline-key-1 {}\n", "0".repeat(64)));
    let key = root.join("key");
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let words = [
        "satline-monitor",
        "--recording",
        root.join("r.satline").to_str().unwrap(),
        "--pseudonymise",
    ]
    .map(str::to_owned);
    let options = Options::parse_from(words.into_iter().chain([key.display().to_string()]));
    let clock = FalseClock {
        now_ns: Cell::new(100 * SECOND),
        at_second: &|_| {},
    };
    let error = Monitor::open(options, clock).err().unwrap().to_string();
    assert!(error.contains("begun with names"), "{error}");
    assert!(!root.join("r.satline/names.sealed").exists());
}
