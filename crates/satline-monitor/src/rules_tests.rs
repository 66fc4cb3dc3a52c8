use super::*;
use proptest::prelude::*;

fn rules(text: &str) -> Rules {
    Rules::parse("users.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn wrong(text: &str) -> String {
    Rules::parse("users.toml", text).unwrap_err().to_string()
}

/// A process; what is `None` can no longer be read.
#[derive(Default, Clone)]
struct Process {
    uid: Option<u32>,
    session: Option<Option<(String, u32)>>,
    groups: Option<Placement>,
    variable: Option<String>,
    command: Option<String>,
}

impl Source for Process {
    fn uid(&mut self) -> Option<u32> {
        self.uid
    }
    fn login(&self, uid: u32) -> String {
        if uid == 1000 {
            "ann".into()
        } else {
            uid.to_string()
        }
    }
    fn session(&mut self) -> Option<Option<(String, u32)>> {
        self.session.clone()
    }
    fn placement(&mut self) -> Option<&Placement> {
        self.groups.as_ref()
    }
    fn notebook_variable(&mut self) -> Option<String> {
        self.variable.clone()
    }
    fn command(&mut self) -> Option<String> {
        self.command.clone()
    }
}

fn process(uid: u32, cgroup: &str, command: &str) -> Process {
    Process {
        uid: Some(uid),
        session: Some(None),
        groups: Some(Placement::read(format!("0::{cgroup}\n").as_bytes())),
        variable: None,
        command: Some(command.into()),
    }
}

fn user(text: &str, mut process: Process) -> Verdict {
    rules(text).verdict(&mut process)
}

fn named(name: &str) -> Verdict {
    Verdict::User(name.into())
}

#[test]
fn the_first_rule_that_fits_says_it() {
    let text = "
        [[rule]]
        command = ['backup*', 'cron']
        exclude = true
        [[rule]]
        uid = '1000-59999'
        user = '{login}'
        [[rule]]
        unit = '*.service'
        user = 'service {unit.1}'
    ";
    assert_eq!(user(text, process(1000, "/", "backup-home")), Verdict::Host);
    assert_eq!(user(text, process(1000, "/", "bash")), named("ann"));
    assert_eq!(user(text, process(60000, "/", "bash")), Verdict::Host);
    assert_eq!(
        user(text, process(33, "/system.slice/web.service", "httpd")),
        named("service web")
    );
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let text = "[[rule]]\nuid = [33, '100-']\nslice = 'user-*.slice'\nuser = '{slice.1}+{uid}'";
    assert_eq!(
        user(text, process(33, "/user.slice/user-7.slice", "x")),
        named("7+33")
    );
    assert_eq!(
        user(text, process(34, "/user.slice/user-7.slice", "x")),
        Verdict::Host
    );
    assert_eq!(user(text, process(33, "/user.slice", "x")), Verdict::Host);
}

#[test]
fn a_name_needs_all_of_its_fields() {
    let text = "[[rule]]\nuser = '{slurm_user}/{slurm_job}'\n[[rule]]\nuser = '{login}'";
    let job = "/system.slice/slurmstepd.scope/job_7/step_0";
    assert_eq!(
        user(text, process(1000, &format!("{job}/user/task_0"), "x")),
        named("ann/7")
    );
    assert_eq!(
        user(text, process(0, &format!("{job}/slurm"), "slurmstepd")),
        named("0"),
        "Slurm's own process in a job is nobody's job"
    );
    assert_eq!(user(text, process(1000, "/", "x")), named("ann"));
}

#[test]
fn a_notebook_in_a_container_is_known_by_what_the_hub_told_it() {
    let text = "[[rule]]\njupyter = true\nuser = '{jupyter}'";
    let id = "a".repeat(64);
    let mut contained = process(1000, &format!("/system.slice/docker-{id}.scope"), "python3");
    assert_eq!(user(text, contained.clone()), Verdict::Host);
    contained.variable = Some("bob".into());
    assert_eq!(user(text, contained.clone()), named("bob"));
    contained.groups = Some(Placement::read(b"0::/user.slice\n"));
    assert_eq!(
        user(text, contained),
        Verdict::Host,
        "outside of a container anybody can set a variable"
    );
    assert_eq!(
        user(text, process(0, "/system.slice/jupyter-cid.service", "x")),
        named("cid")
    );
}

#[test]
fn containers_have_their_short_names_and_are_found_by_both() {
    let id = "0123456789abcdef".repeat(4);
    for pattern in ["true", "'0123456789ab'", "'0123*'", &format!("'{id}'")] {
        let text = format!("[[rule]]\ncontainer = {pattern}\nruntime = 'docker'\nuser = '{{container}}'");
        let verdict = user(&text, process(0, &format!("/docker/{id}"), "x"));
        assert_eq!(verdict, named("0123456789ab"), "{pattern}");
    }
}

#[test]
fn no_process_can_call_itself_the_host() {
    let text = "[[rule]]\nuser = '{command}'";
    assert_eq!(user(text, process(0, "/", "_kernel")), named("kernel"));
    assert_eq!(user(text, process(0, "/", "__")), Verdict::Host);
    assert_eq!(
        user("[[rule]]\nuser = '_batch {command}'", process(0, "/", "x")),
        named("_batch x")
    );
}

#[test]
fn what_has_ended_is_unknown_only_where_it_is_asked_for() {
    let ended = Process {
        uid: Some(1000),
        ..Process::default()
    };
    assert_eq!(
        user("[[rule]]\nuid = 1000\nuser = '{login}'", ended.clone()),
        named("ann")
    );
    for key in ["command", "unit", "session", "pod", "jupyter"] {
        let text = format!("[[rule]]\n{key} = 'x'\nexclude = true\n[[rule]]\nuser = '{{login}}'");
        assert_eq!(user(&text, ended.clone()), Verdict::Unknown, "{key}");
    }
}

#[test]
fn sessions_and_audit_logins() {
    let mut one = process(0, "/", "x");
    one.session = Some(Some(("ann".into(), 3)));
    let text = "[[rule]]\nsession = true\nuser = '{audit_login}, {session}'";
    assert_eq!(user(text, one), named("ann, ann#3"));
}

#[test]
fn stars_stand_for_any_text() {
    for (pattern, text, parts) in [
        ("*", "", Some(vec![""])),
        ("a*", "abc", Some(vec!["bc"])),
        ("*-*", "a-b-c", Some(vec!["a", "b-c"])),
        ("*.service", "a.service.service", Some(vec!["a.service"])),
        ("a?c", "abc", Some(vec![])),
        ("a?c", "ac", None),
        ("abc", "ab", None),
        ("", "a", None),
        ("/*/job_*", "/a/b/job_7", Some(vec!["a/b", "7"])),
    ] {
        let parts = parts.map(|parts| parts.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(fits(pattern, text), parts, "{pattern} {text}");
    }
    let long = "a".repeat(5000);
    assert_eq!(
        fits(&"a*".repeat(500), &format!("{long}b")).map(|parts| parts.len()),
        Some(500)
    );
    assert_eq!(fits(&format!("{}c", "a*".repeat(500)), &format!("{long}b")), None);
}

#[test]
fn errors_name_file_line_and_key() {
    for (text, line, words) in [
        ("", 1, "no rules"),
        (
            "[[rule]]\nuser = 'a'\n\n[[rule]]\nlogn = 'x'\nuser = 'b'",
            5,
            "rule.logn: there is no such key",
        ),
        ("rules = 1", 1, "rules: there is no such key"),
        ("rule = 1", 1, "rule: not a list"),
        ("rule = [1]", 1, "rule: not a rule"),
        (
            "[[rule]]\nuid = 'a-b'\nuser = 'x'",
            2,
            "rule.uid: not user numbers",
        ),
        (
            "[[rule]]\nuid = '9-1'\nuser = 'x'",
            2,
            "rule.uid: not user numbers",
        ),
        ("[[rule]]\nuid = -1\nuser = 'x'", 2, "rule.uid: not user numbers"),
        ("[[rule]]\nuid = []\nuser = 'x'", 2, "rule.uid: not user numbers"),
        (
            "[[rule]]\nunit = ['a',\n1.5]\nuser = 'x'",
            3,
            "rule.unit: not a pattern",
        ),
        (
            "[[rule]]\nunit = false\nuser = 'x'",
            2,
            "rule.unit: not a pattern",
        ),
        (
            "[[rule]]\nuser = '{who}'",
            2,
            "rule.user: {who}: there is no such field",
        ),
        ("[[rule]]\nuser = '{login'", 2, "rule.user: {login: no } follows"),
        (
            "[[rule]]\nunit = ['a-*', 'b']\nuser = '{unit.1}'",
            3,
            "rule.user: {unit.1}",
        ),
        ("[[rule]]\nuser = '{unit.1}'", 2, "rule.user: {unit.1}"),
        ("[[rule]]\nuser = ''", 2, "rule.user: it is empty"),
        ("[[rule]]\nuser = 5", 2, "rule.user: not a text"),
        ("[[rule]]\nunit = 'a'", 1, "rule: it says no user"),
        ("[[rule]]\nuser = 'a'\nexclude = true", 3, "rule.exclude"),
        ("[[rule]]\nexclude = false", 2, "rule.exclude"),
        ("[[rule]]\nuser = 'a", 2, ""),
    ] {
        let error = wrong(text);
        assert!(
            error.starts_with(&format!("users.toml: line {line}: ")),
            "{text}: {error}"
        );
        assert!(
            error.contains(words) && error.contains("\nhint: "),
            "{text}: {error}"
        );
    }
    let missing = Rules::read(std::path::Path::new("/nonexistent")).unwrap_err();
    assert!(missing.to_string().starts_with("/nonexistent: "), "{missing}");
}

#[test]
fn the_shipped_rules_can_be_read() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/user-rules");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            Rules::read(&path).unwrap_or_else(|error| panic!("{error}"));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}", pattern in "[a*?]{0,20}", value in "[ab]{0,40}") {
        let _ = Rules::parse("x", &text);
        let _ = Rules::parse("x", &format!("[[rule]]\nunit = '''{}'''\nuser = '''{text}'''", text.replace('\'', "")));
        let _ = fits(&pattern, &value);
    }
}
