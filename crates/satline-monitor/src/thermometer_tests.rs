use super::*;

/// Polls every 10 ms, two minutes at most.
fn readings(thermometers: &mut Thermometers, count: usize) -> Vec<ThermometerReading> {
    let mut readings = Vec::new();
    for tick in 0..12_000 {
        readings.extend(thermometers.poll(1_000, tick * 10_000_000));
        if readings.len() >= count {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    readings
}

fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("probe");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (directory, path)
}

fn plan(text: &str) -> ThermometerPlan {
    text.parse().unwrap()
}

#[test]
fn plans_are_read() {
    assert_eq!(
        plan("io@500ms"),
        ThermometerPlan {
            name: "io".into(),
            period: Duration::from_millis(500)
        }
    );
    for wrong in ["io", "@1s", "io@", "io@0s", "io@x"] {
        assert!(wrong.parse::<ThermometerPlan>().is_err(), "{wrong}");
    }
}

#[test]
fn a_probe_is_started_and_its_line_gathered() {
    let line =
        r#"echo "{\"thermometer\":\"$1\",\"elapsed_us\":12,\"cpu_us\":3,\"parameters\":{\"cpu_s\":1}}""#;
    let (_directory, path) = program(line);
    let mut thermometers = Thermometers::new(path, vec![plan("trivial@1h")], vec![], 0);
    let readings = readings(&mut thermometers, 1);
    let expected = ThermometerReading {
        thermometer: "trivial".into(),
        time_ns: 1000,
        monotonic_ns: 0,
        elapsed_us: Some(12),
        cpu_us: Some(3),
        parameters: Some(r#"{"cpu_s":1}"#.into()),
        failure: None,
    };
    assert_eq!(readings, [expected]);
}

#[test]
fn probes_that_fail_leave_a_row_without_a_time() {
    for (text, word) in [("exit 3", "exit status: 3"), ("echo nothing", "output")] {
        let (_directory, path) = program(text);
        let mut thermometers = Thermometers::new(path, vec![plan("io@1h")], vec![], 0);
        let readings = readings(&mut thermometers, 1);
        assert_eq!(readings[0].elapsed_us, None);
        assert!(
            readings[0].failure.as_ref().unwrap().contains(word),
            "{readings:?}"
        );
    }
    let mut absent = Thermometers::new("/nonexistent/probe".into(), vec![plan("io@1h")], vec![], 0);
    assert!(
        readings(&mut absent, 1)[0]
            .failure
            .as_ref()
            .unwrap()
            .contains("/nonexistent/probe")
    );
}

#[test]
fn a_probe_that_hangs_holds_nothing_up_and_is_ended() {
    let (_directory, path) = program("exec sleep 1000");
    let mut thermometers = Thermometers::new(path, vec![plan("paging@1s")], vec![], 0);
    assert_eq!(thermometers.poll(0, 0), []);
    let pid = thermometers.thermometers[0].running.as_ref().unwrap().child.id();
    assert_eq!(
        thermometers.poll(0, 5_000_000_000),
        [],
        "its next run is left out"
    );
    assert_eq!(thermometers.stop().len(), 1);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}
