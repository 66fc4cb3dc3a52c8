//! The monitor: Linux kernel text → typed counters → recording.
//!
//! It knows nothing of what is made of its readings. Raw counters are recorded; what this kernel does not give is null
//! and named in `sources/monitor.toml`.

pub mod abilities;
pub mod accounting;
pub mod alarm;
pub mod budget;
pub mod by_pid;
pub mod cgroup;
pub mod clockwork;
pub mod counters;
pub mod device;
pub mod ebpf;
pub mod explain;
pub mod files;
pub mod holders;
pub mod limited;
pub mod lines;
pub mod listing;
pub mod locks;
pub mod missing;
pub mod monitor;
pub mod netlink;
pub mod nfs;
pub mod options;
pub mod placement;
pub mod plausible;
pub mod population;
pub mod process;
pub mod queues;
pub mod recorder;
pub mod requests;
pub mod rules;
pub mod source;
pub mod system;
pub mod taskstats;
pub mod thermometer;
pub mod users;
pub mod waited;
pub mod who;
