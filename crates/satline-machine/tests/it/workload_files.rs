//! The shipped workload files, and wrong ones.

use crate::support::files::{self, machine_path, shipped, spoilt, text, workload, workload_path};
use satline_machine::configuration::Population;
use satline_machine::configuration::explain::mean_transaction;
use satline_machine::configuration::read::{machine_file, read_files, workload_file};

#[test]
fn every_shipped_workload_is_read() {
    let paths = shipped("workloads/simulated");
    assert!(paths.len() >= 9);
    for path in paths {
        let workload = workload_file(&path, &[]).unwrap().workload;
        assert_eq!(path.file_stem().unwrap().to_str(), Some(workload.name.as_str()));
        let shares: f64 = workload.classes.iter().map(|class| class.share).sum();
        assert!((shares - 1.0).abs() < 1e-6);
    }
}

/// What 310 users ask for, as calibrated, is what the base table of [T87] shows.
#[test]
fn the_310_users_ask_for_the_totals_of_the_table() {
    let workload = workload_file(&workload_path("tso310"), &[]).unwrap().workload;
    let machine = machine_file(&machine_path("3081D"), &[]).unwrap().machine;
    assert_eq!(workload.population, Population::Constant(310));
    let class = &workload.classes[0];
    let (q1_drops_per_s, q2_drops_per_s) = (19.4, 4.8);
    let thinking = 310.0 - 15.0 - 55.0;
    assert!((thinking / class.think.mean_s() / q1_drops_per_s - 1.0).abs() < 0.02);
    let (cpu_s, ios) = mean_transaction(class);
    assert!((ios * q1_drops_per_s / 377.0 - 1.0).abs() < 0.08);
    let problem = cpu_s * q1_drops_per_s / machine.processors.speed;
    assert!((problem - 1.40).abs() < 0.08, "{problem}");
    let long = class
        .transactions
        .iter()
        .find(|kind| kind.name == "long")
        .unwrap();
    let weights: f64 = class.transactions.iter().map(|kind| kind.weight).sum();
    assert!((long.weight / weights * q1_drops_per_s / q2_drops_per_s - 1.0).abs() < 0.05);
    // All pages of all users fit on the drums.
    let slots: u32 = machine.paging.areas.iter().map(|area| area.cylinders * 24).sum();
    assert!(360 * class.space_pages + workload.shared_pages < slots);
}

#[test]
fn the_week_has_its_thousand_observations() {
    let workload = workload_file(&workload_path("case-study-week"), &[])
        .unwrap()
        .workload;
    let Population::Varying(changes) = &workload.population else {
        panic!("users change");
    };
    let last = changes.last().unwrap().from.seconds() / 3600.0;
    assert!((144.0..168.0).contains(&last));
    let most = changes.iter().map(|change| change.users).max().unwrap();
    assert!(most >= 30 && changes.iter().all(|change| change.users >= 1));
    let cms = workload_file(&workload_path("cms"), &[]).unwrap().workload;
    assert_eq!(format!("{:?}", cms.classes), format!("{:?}", workload.classes));
}

#[test]
fn wrong_workloads_are_refused_with_the_line_the_key_and_a_remedy() {
    let good = text(&workload_path("interactive"));
    let share = "class.clerk.share";
    #[rustfmt::skip]
    let cases = [
        ("users = 20", "users = 0", "population.users is 0", "from 1 to 100000"),
        ("users = 20", "user = 20", "population.users is missing", "there is \"user\""),
        ("users = 20", "users_from_hour = []", "has 0 pairs", "[TIME, USERS]"),
        ("users = 20", "users_from_hour = [[0, 1], [0, 2]]", "does not rise from 0 at 1", "times rise"),
        ("users = 20", "users_from_hour = [[1, 1]]", "does not rise from 0 at 0", "first time is 0"),
        ("users = 20", "users_from_hour = [[0, 1.5]]", "an impossible pair at 0", "whole"),
        ("users = 20", "users_from_hour = [[0, 0]]", "no users at any time", "pairs"),
        ("users = 20", "users_from_s = [[0, nan]]", "an impossible pair", "whole"),
        ("users = 20", "users_from_s = [0]", "has no pair of numbers at 0", "pairs"),
        ("users = 20", "users = 20\nusers_from_s = [[0, 1]]", "is there, and users", "one of them"),
        ("share = 0.6", "share = 0.7", "class has shares that add up to 1.1", "make it 1"),
        ("share = 0.6", "share = -0.6", share, "give a value"),
        ("share = 0.6", "share = inf", share, "give a value"),
        ("share = 0.6", "shar = 0.6", "class.clerk.share is missing", "there is \"shar\""),
        ("think_s = { exponential = 12.0 }", "", "class.clerk.think_s is missing", "add"),
        ("think_s = { exponential = 12.0 }", "think_s = 12", "think_s is a number", "exponential = MEAN"),
        ("{ exponential = 12.0 }", "{ exponental = 12.0 }", "think_s names no distribution", "exponential = MEAN"),
        ("{ exponential = 12.0 }", "{ exponential = -1 }", "think_s.exponential makes none", "not negative"),
        ("{ exponential = 12.0 }", "{ exponential = nan }", "think_s.exponential makes none", "finite"),
        ("{ exponential = 12.0 }", "{ exponential = 1, fixed = 1 }", "is there, and fixed too", "one of them"),
        ("{ exponential = 12.0 }", "{ uniform = [2, 1] }", "think_s.uniform makes none", "rising"),
        ("{ exponential = 12.0 }", "{ uniform = 1 }", "think_s.uniform is not a pair", "LOW"),
        ("{ exponential = 12.0 }", "{ empirical = [[0, 1]] }", "think_s.empirical makes none", "share"),
        ("{ exponential = 12.0 }", "{ empirical = [[0, 1], \"x\"] }", "is not a pair", "SHARE"),
        ("{ exponential = 12.0 }", "{ hyperexponential = { first = 2, means = [1, 1] } }", "makes none", "within"),
        ("{ exponential = 12.0 }", "{ lognormal = { mean = 1, sdv = 1 } }", "lognormal.sd is missing", "there is \"sdv\""),
        ("{ exponential = 12.0 }", "{ lognormal = { mean = 0, sd = 1 } }", "makes none", "finite"),
        ("mean = 80, sd = 40", "mean = \"80\", sd = 40", "has a text for a number", "MEAN"),
        ("space_pages = 120", "space_pages = 5", "working_set_pages is 18", "from 1 to 5"),
        ("weight = 85", "weight = 0", "class.clerk.transaction.trivial.weight is 0", "give a value"),
        ("shared_pages = 150", "shared_pages = 150\nbackground = 3", "background is a number", "[[background]]"),
        ("repeatability = 0.85", "repeatability = 1.5", "locality.repeatability is 1.5", "from 0 to 1"),
        ("phase_ms = 2000", "phase_ms = 0", "locality.phase_ms is 0", "give a value"),
        ("shared_pages = 10", "shared_pages = 151", "locality.shared_pages is 151", "from 0 to 150"),
        ("cpu_between_ios_ms = 25", "cpu_between_ios_ms = 0", "cpu_between_ios_ms is 0", "give a value"),
        ("blocks = 1", "blocks = 1000", "io.blocks is 1000", "give a value"),
        ("skew = 0.5", "skw = 0.5", "io.skw is not known", "did you mean skew?"),
    ];
    for (from, to, place, hint) in cases {
        let error = workload(&spoilt(&good, from, to), &[]).map(|_| ()).expect_err(to);
        assert!(error.message.contains("bad.toml, line "), "{to}: {error}");
        assert!(error.message.contains(place), "{to}: {error}");
        assert!(error.hint.contains(hint), "{to}: {}", error.hint);
    }
}

#[test]
fn values_are_set_by_their_path_and_only_with_the_prefix() {
    let good = text(&workload_path("interactive"));
    let set = |key, value| workload(&good, &[(key, value)]).map(|file| file.workload);
    assert_eq!(
        set("workload.shared_pages", "0").map(|_| ()).unwrap_err().hint,
        "give a value from 0 to 0"
    );
    assert_eq!(set("workload.shared_pages", "33").unwrap().shared_pages, 33);
    assert_eq!(set("shared_pages", "33").unwrap().shared_pages, 150);
    let thinks = |key, value| set(key, value).unwrap().classes[0].think.mean_s();
    assert_eq!(thinks("workload.class.clerk.think_s", "{ fixed = 3 }"), 3.0);
    assert_eq!(thinks("workload.class.0.think_s.exponential", "4"), 4.0);
    assert_eq!(thinks("workload.class.clerk.think_s.fixed", "5"), 5.0);
    assert_eq!(thinks("workload.class.clerk.think_ms", "{ fixed = 6000 }"), 6.0);
    let key = "workload.class.clerk.transaction.trivial.locality.working_set_pages";
    assert_eq!(
        set(key, "30").unwrap().classes[0].transactions[0]
            .locality
            .working_set_pages,
        30.0
    );
    let varying = text(&workload_path("case-study-week"));
    let constant = workload(&varying, &[("workload.population.users", "7")])
        .unwrap()
        .workload;
    assert_eq!(constant.population, Population::Constant(7));
    let error = set("workload.class.clark.share", "1").map(|_| ()).unwrap_err();
    assert!(error.hint.contains("clerk, developer"), "{}", error.hint);
}

#[test]
fn a_workload_that_the_machine_has_no_room_for_is_refused() {
    let (machine, work) = (machine_path("155-II-1mb"), workload_path("cms"));
    let read = |key: &str, value: &str| {
        let sets = [(key.to_string(), value.to_string())];
        read_files(&machine, &work, &sets).map(|_| ())
    };
    read("name", "x").unwrap();
    let error = read("workload.class.0.transaction.0.io.span_cylinders", "405").unwrap_err();
    assert!(
        error
            .message
            .contains("span_cylinders is 405, and page-pack-1 has 404"),
        "{error}"
    );
    let text = text(&machine)
        .replace("\"files\"", "\"paging\"")
        .replace("\"both\"", "\"paging\"");
    let areas = "\n[[paging_area]]\ndevice = \"pack\"\ncylinders = 1\n";
    let only_paging = files::machine(&format!("{text}{areas}"), &[]).unwrap().machine;
    let workload = workload_file(&work, &[]).unwrap().workload;
    let error = satline_machine::configuration::read::together(&only_paging, &workload).unwrap_err();
    assert!(error.message.contains("has no device for files"), "{error}");
}
