//! What a policy file may say: every key against its line in the table, all problems at once.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::amount::SizeText;

/// One key of a policy file.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub is: Is,
    /// For people, without a full stop.
    pub meaning: &'static str,
}

/// What a key may be.
#[derive(Debug)]
pub enum Is {
    /// From 0 to 1.
    Share,
    /// Least and most, s.
    Seconds(f64, f64),
    /// Least and most.
    Count(u64, u64),
    /// Bytes, as a number or as text: at least so many.
    Size(u64),
    /// Bytes, or a share of what there is.
    Amount,
    Flag,
    Text,
    /// A path from the root of a hierarchy of control groups.
    GroupPath,
    Words(&'static [&'static str]),
    /// User ids.
    Ids,
    /// Names of zram devices.
    Zram,
    Part(&'static [Key]),
    /// All of its keys are stated.
    Whole(&'static [Key]),
    /// Several parts: at least one.
    Each(&'static [Key]),
}

/// All that is wrong in a text: line and words that name the key.
pub fn wrong_in(text: &str, keys: &[Key]) -> Vec<(usize, String)> {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let mut found = Found(Vec::new());
    match DeTable::parse(text) {
        Err(error) => found.add(error.span().unwrap_or(0..0), error.message()),
        Ok(root) => {
            found.table("", root.get_ref(), keys);
            found.together(root.get_ref());
        }
    }
    found.0.sort_by_key(|(span, _)| span.start);
    found
        .0
        .into_iter()
        .map(|(span, what)| (line(span.start), what))
        .collect()
}

struct Found(Vec<(Range<usize>, String)>);

impl Found {
    fn add(&mut self, at: Range<usize>, what: impl Into<String>) {
        self.0.push((at, what.into()));
    }

    fn table(&mut self, before: &str, table: &DeTable<'_>, keys: &[Key]) {
        for (name, value) in table.iter() {
            let place = format!("{before}{}", name.get_ref());
            match keys.iter().find(|key| key.name == name.get_ref().as_ref()) {
                Some(key) => self.value(&place, value, &key.is),
                None => {
                    let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
                    self.add(
                        name.span(),
                        format!("{place}: unknown key; known here: {}", known.join(", ")),
                    );
                }
            }
        }
    }

    fn value(&mut self, place: &str, value: &Spanned<DeValue<'_>>, is: &Is) {
        match (is, value.get_ref()) {
            (Is::Part(keys), DeValue::Table(table)) => self.table(&format!("{place}."), table, keys),
            (Is::Whole(keys), DeValue::Table(table)) => {
                for key in keys.iter().filter(|key| !table.contains_key(key.name)) {
                    self.add(value.span(), format!("{place}.{}: it is missing", key.name));
                }
                self.table(&format!("{place}."), table, keys);
            }
            (Is::Each(keys), DeValue::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let place = format!("{place} {}: ", number + 1);
                    match item.get_ref() {
                        DeValue::Table(table) => {
                            self.table(&place, table, keys);
                            self.watch(&place, table, item.span());
                        }
                        _ => self.add(item.span(), format!("{place}must be a table")),
                    }
                }
            }
            (is, value_of) => {
                if let Some(what) = must_be(is, value_of) {
                    self.add(value.span(), format!("{place}: must be {what}"));
                }
            }
        }
    }

    fn watch(&mut self, place: &str, watch: &DeTable<'_>, at: Range<usize>) {
        const KINDS: [&str; 5] = ["cgroup", "pid_file", "parent_pid", "pid", "command"];
        if KINDS.iter().filter(|kind| watch.contains_key(**kind)).count() != 1 {
            self.add(at, format!("{place}write exactly one of {}", KINDS.join(", ")));
        } else if watch.contains_key("uid") && !watch.contains_key("command") {
            self.add(at, format!("{place}uid goes with command only"));
        }
    }

    /// What several keys say together.
    fn together(&mut self, root: &DeTable<'_>) {
        let none = match root.get("watch").map(Spanned::get_ref) {
            Some(DeValue::Array(items)) => items.is_empty(),
            other => other.is_none(),
        };
        if none {
            self.add(0..0, "watch: there is no [[watch]], so there is nobody to swap");
        }
        let Some(DeValue::Table(storage)) = root.get("storage").map(Spanned::get_ref) else {
            return;
        };
        // Bytes and shares cannot be compared before the host is known.
        if let (Some(low), Some(high)) = (storage.get("low"), storage.get("high")) {
            let below = match (low.get_ref(), high.get_ref()) {
                (DeValue::Float(_), DeValue::Float(_)) => number(high.get_ref()) < number(low.get_ref()),
                (low, high) => matches!((bytes(low), bytes(high)), (Some(low), Some(high)) if high < low),
            };
            if below {
                self.add(high.span(), "storage.high: it is below storage.low");
            }
        }
    }
}

/// What the value must be, if it is not.
fn must_be(is: &Is, value: &DeValue<'_>) -> Option<String> {
    let within = |least: f64, most: f64| number(value).is_some_and(|n| (least..=most).contains(&n));
    let (fits, what) = match is {
        Is::Share => (within(0.0, 1.0), "a share from 0 to 1".into()),
        Is::Seconds(least, most) => (within(*least, *most), format!("from {least} to {most} s")),
        Is::Count(least, most) => (
            whole(value).is_some_and(|n| (*least..=*most).contains(&n)),
            match *most {
                most if most == i64::MAX as u64 => format!("a whole number, at least {least}"),
                most => format!("a whole number from {least} to {most}"),
            },
        ),
        Is::Size(least) => (
            bytes(value).is_some_and(|n| n >= *least),
            format!("bytes, or text like \"256 MiB\": at least {least}"),
        ),
        Is::Amount => (
            bytes(value).is_some() || (matches!(value, DeValue::Float(_)) && within(0.0, 1.0)),
            "bytes, a share from 0.0 to 1.0, or text like \"256 MiB\"".into(),
        ),
        Is::Flag => (matches!(value, DeValue::Boolean(_)), "true or false".into()),
        Is::Text => (matches!(value, DeValue::String(_)), "text".into()),
        Is::GroupPath => (
            value
                .as_str()
                .is_some_and(|path| path.starts_with('/') && path.split('/').all(|part| part != "..")),
            "a path from the root of its hierarchy, without `..`".into(),
        ),
        Is::Words(words) => (
            value.as_str().is_some_and(|word| words.contains(&word)),
            format!("one of {}", words.join(", ")),
        ),
        Is::Ids => (
            each(value, |id| whole(id).is_some_and(|id| id <= u64::from(u32::MAX))),
            "a list of user ids".into(),
        ),
        Is::Zram => (
            each(value, |name| {
                let number = name.as_str().and_then(|name| name.strip_prefix("zram"));
                number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            }),
            "a list of zram devices, such as [\"zram0\"]".into(),
        ),
        Is::Part(_) | Is::Whole(_) => (false, "a table".into()),
        Is::Each(_) => (false, "tables, each begun by its name in [[ ]]".into()),
    };
    (!fits).then_some(what)
}

fn each(value: &DeValue<'_>, fits: impl Fn(&DeValue<'_>) -> bool) -> bool {
    matches!(value, DeValue::Array(items) if items.iter().all(|item| fits(item.get_ref())))
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => whole(value).map(|n| n as f64),
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

fn bytes(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::String(text) => SizeText::try_from(text.to_string()).ok().map(|size| size.0),
        _ => whole(value),
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{Policy, QueueDrop};

    fn parse(text: &str) -> Result<Policy, String> {
        Policy::parse(text).map_err(|wrong| format!("{wrong:?}"))
    }

    const WATCH: &str = "[[watch]]\npid = 100\n";

    #[test]
    fn everything_but_whom_to_watch_has_a_default() {
        let policy = parse(WATCH).unwrap();
        assert_eq!(policy.queue_drop, QueueDrop::default());
        assert_eq!(policy.prepage.whole, None);
    }

    #[test]
    fn amounts_are_bytes_shares_or_text() {
        let policy = parse(&format!(
            "{WATCH}[storage]\nlow = 1000\nhigh = 0.5\n[swap_out]\nbytes_per_second = \"64 MiB\"\n"
        ))
        .unwrap();
        assert_eq!(policy.storage.low.bytes(4000), 1000);
        assert_eq!(policy.storage.high.bytes(4000), 2000);
        assert_eq!(policy.swap_out.bytes_per_second.bytes(0), 64 << 20);
    }

    #[test]
    fn some_users_may_be_judged_by_figures_of_their_own() {
        let text = "[[watch]]\npid = 9\n[[watch]]\npid = 10\ncpu_share = 0.05\nfaults = 7\n[activity]\ncpu_burst_us = 5\n";
        let policy = parse(text).unwrap();
        let of = |watch| {
            let activity = policy.activity_of(watch);
            (activity.cpu_share, activity.cpu_burst_us, activity.faults)
        };
        assert_eq!((of(0), of(1)), ((0.005, 5, 2), (0.05, 5, 7)));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        for (text, key) in [
            ("[queue_drop]\nidle_seconds = 0.0\n", "queue_drop.idle_seconds"),
            ("[queue_drop]\nidle_second = 3\n", "idle_second"),
            ("cpu_share = 5.0\n", "cpu_share"),
            ("faults = 0\n", "faults"),
            (
                "[queue_drop]\nworking_set_stays = 0\n",
                "queue_drop.working_set_stays",
            ),
            ("[storage]\nlow = 0.5\nhigh = 0.2\n", "storage.high"),
            ("[storage]\nlow = 1.5\n", "storage.low"),
            ("[storage]\nlow = \"many\"\n", "low"),
            ("[swap_out]\norder = \"random\"\n", "order"),
            ("[swap_out]\nset_pages = 0\n", "swap_out.set_pages"),
            (
                "[prepage]\nshare_of_free_storage = nan\n",
                "prepage.share_of_free_storage",
            ),
            (
                "[prepage]\nwhole = { max_bytes = 5 }\n",
                "device_bytes_per_second",
            ),
            (
                "[give_up]\nprepage_error_share = -0.1\n",
                "give_up.prepage_error_share",
            ),
            ("[tiers]\nzram = [\"../sda\"]\n", "tiers.zram"),
            ("[[watch]]\npid = 1\n", "watch 2"),
            ("[[watch]]\ncgroup = \"/a/../b\"\n", "watch 2"),
            ("[[watch]]\npid = 5\ncommand = \"x\"\n", "watch 2"),
        ] {
            let wrong = parse(&format!("{WATCH}{text}")).unwrap_err();
            assert!(wrong.contains(key), "{text}: {wrong}");
        }
        assert!(parse("").is_err());
    }

    #[test]
    fn all_that_is_wrong_is_told_with_its_line() {
        let text = "[[watch]]\npid = 1\n[queue_drop]\nidle_second = 3\n[swap_out]\norder = \"any\"\n";
        let wrong = Policy::parse(text).unwrap_err();
        let lines: Vec<usize> = wrong.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 4, 6], "{wrong:?}");
        assert!(wrong[1].1.contains("idle_seconds"), "{wrong:?}");
    }

    #[test]
    fn what_the_table_lets_pass_is_a_policy() {
        let text = toml::to_string(&parse(WATCH).unwrap()).unwrap();
        assert_eq!(parse(&text), parse(WATCH));
    }
}
