//! The tests of this crate in one program: each program more would be linked, and compile what it uses, once more.

#[path = "../support/mod.rs"]
mod support;

mod audit;
mod calendar;
mod central_server;
mod device_files;
mod devices;
mod distribution;
mod explain;
mod free_storage;
mod guide_policy;
mod involuntary_drop;
mod like;
mod machine_files;
mod model;
mod model_reference;
mod model_theory;
mod modules;
mod multiprocessor;
mod multiprocessor_files;
mod page_out;
mod page_out_directions;
mod paging_peers;
mod peers_files;
mod program;
mod recorder;
mod references;
mod replacement;
mod shipped_runs;
mod storage;
mod swapping;
mod swapping_files;
mod swapping_model;
mod swapping_qualities;
mod waiting;
mod watching;
mod workload_files;
