//! No involuntary queue-drop.
//!
//! What: a user leaves the queue only at the end of his slice or of his transaction; overcommitment shows as steals.
//! Why: so it is at base, and the control against which the drop shows what it is worth.
//! Reference: VM/370 Release 6, SY20-0886: the list of status changes has no other way out for one who waits for a page.

use super::InvoluntaryDrop;

pub fn make() -> Option<Box<dyn InvoluntaryDrop>> {
    None
}
