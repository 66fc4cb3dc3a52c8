//! The words between looking, deciding and acting.

use serde::{Deserialize, Serialize};

/// A user, by number.
pub type UserId = u32;

/// Where a user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In a stay.
    Active,
    /// Logically swapped: the stay is over, its pages are kept.
    Idle,
    /// Of the pages outside the working set as many are out as was needed.
    Trimmed,
    /// Some of the working set is out.
    Partly,
    /// All is out.
    Swapped,
    /// Back, and held until his working set fits into storage beside those of the users in the queue.
    Eligible,
    /// Back, and his swap sets are being read.
    Resuming,
}

impl State {
    /// Its name in files.
    pub fn word(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::Trimmed => "trimmed",
            State::Partly => "partly",
            State::Swapped => "swapped",
            State::Eligible => "eligible",
            State::Resuming => "resuming",
        }
    }
}

/// What is being done for a user; one thing at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    Recording,
    Out,
    In,
}

/// What was seen of a user since the last decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct UserSeen {
    pub id: UserId,
    /// He used the processor beyond the share of an idle one, or typed.
    pub active: bool,
    /// He touched pages that are outside.
    pub faulted: bool,
    /// Somebody said that he is about to come back.
    pub announced: bool,
    pub interactive: bool,
    pub resident_bytes: u64,
}

/// What was seen of storage. None: it could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSeen {
    /// What `low` and `high` are shares of.
    pub total_bytes: u64,
    pub free_bytes: u64,
    pub low_bytes: u64,
    pub high_bytes: u64,
    /// Tasks wait for storage more than the policy allows.
    pub pressed: bool,
    pub swap_free_bytes: u64,
    pub swap_reserve_bytes: u64,
}

/// What the work that was asked for came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    Recorded {
        id: UserId,
        working_set_bytes: Option<u64>,
        /// Of the working set, outside storage.
        wanted_bytes: u64,
        /// Present, and not known to be in the working set.
        trimmable_bytes: u64,
        /// Of these, known not to have been touched in a stay.
        cold_bytes: u64,
        resident_bytes: u64,
        prepaged_pages: u64,
        prepage_errors: u64,
    },
    /// A page-out ended: asked for, freed, still in storage.
    Out {
        id: UserId,
        asked_bytes: u64,
        freed_bytes: u64,
        left_bytes: u64,
        /// Of the working set, outside storage now.
        wanted_bytes: u64,
        trimmed_only: bool,
    },
    In {
        id: UserId,
    },
    /// An action failed or took too long.
    Failed {
        id: UserId,
    },
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Learn the working set of the stay that is over.
    Record { id: UserId },
    /// Write out pages outside the working set, up to so many bytes.
    Trim {
        id: UserId,
        /// Only pages that a stay is known not to have touched.
        cold_only: bool,
        bytes: u64,
    },
    /// Write out whatever he has, the working set last, up to so many bytes.
    SwapOut { id: UserId, bytes: u64 },
    /// End the work under way for him.
    Stop { id: UserId },
    /// Stop his processes, for no longer than the policy says.
    Hold { id: UserId },
    /// Let them go on.
    Release { id: UserId },
    /// Read swap sets.
    Prepage { id: UserId },
}
