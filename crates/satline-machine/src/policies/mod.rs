//! The control program's decisions, each behind a small trait: one folder per decision, one file per policy.
//!
//! A folder's `mod.rs` has the table of its policies; a policy is one file and one line there. Its file opens with What, Why
//! and Reference; what a catalogue says of it is its What line. The trait is there too, or, of what storage asks, in
//! `storage/decisions.rs`.

pub mod admission;
pub mod dispatch;
pub mod free_storage;
pub mod involuntary_drop;
pub mod page_out_device;
pub mod queue_drop;
pub mod replacement;
pub mod slot;

use satline_program::Error;

/// One line of a policy table.
pub struct Entry<M: 'static> {
    /// As machine files name it.
    pub name: &'static str,
    /// The text of its file.
    pub source: &'static str,
    /// Makes one.
    pub make: M,
}

impl<M> Entry<M> {
    /// What the policy does: one sentence or two, from the head of its file.
    pub fn what(&self) -> String {
        satline_traces::policies::what(self.source)
    }
}

/// The maker of the policy of this name; `key` is the table's name in machine files.
///
/// # Errors
/// There is no such policy.
pub fn find<M: Copy>(table: &'static [Entry<M>], key: &str, name: &str) -> Result<M, Error> {
    let found = table.iter().find(|entry| entry.name == name);
    found.map(|entry| entry.make).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|entry| entry.name).collect();
        Error::input(
            format!("policies.{key}: {name:?} is not known"),
            format!("the policies are {}", names.join(", ")),
        )
    })
}

/// A table for people: where machine files name one of it, and what each of its policies does.
pub struct Listing {
    /// Of the machine file.
    pub table: &'static str,
    pub key: &'static str,
    /// (name, what).
    pub policies: Vec<(&'static str, String)>,
}

/// All tables.
#[rustfmt::skip]
pub fn listings() -> Vec<Listing> {
    vec![
        listing("replacement", replacement::POLICIES),
        listing("page_out_device", page_out_device::POLICIES),
        listing("slot", slot::POLICIES),
        listing("queue_drop", queue_drop::POLICIES),
        listing("admission", admission::POLICIES),
        listing("dispatch", dispatch::POLICIES),
        Listing { table: "scheduler", ..listing("involuntary_drop", involuntary_drop::POLICIES) },
        Listing { table: "free_storage", ..listing("subpools", free_storage::POLICIES) },
    ]
}

fn listing<M>(key: &'static str, table: &'static [Entry<M>]) -> Listing {
    Listing {
        table: "policies",
        key,
        policies: table.iter().map(|entry| (entry.name, entry.what())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_policy_says_what_it_does_and_has_a_name_of_its_own() {
        for listing in listings() {
            let names: HashSet<_> = listing.policies.iter().map(|policy| policy.0).collect();
            assert_eq!(names.len(), listing.policies.len(), "{}", listing.key);
            assert!(!names.is_empty(), "{}", listing.key);
            for (name, what) in &listing.policies {
                assert!(
                    what.len() > 20,
                    "{}: {name} does not say what it does",
                    listing.key
                );
            }
        }
    }

    #[test]
    fn an_unknown_policy_is_an_error_that_names_the_known_ones() {
        let error = find(dispatch::POLICIES, "dispatch", "fair").err().unwrap();
        assert_eq!(error.message, "policies.dispatch: \"fair\" is not known");
        assert_eq!(
            error.hint,
            "the policies are priority, round-robin, ap-release-5, affinity, active-wait"
        );
    }
}
