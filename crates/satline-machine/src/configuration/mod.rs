//! What a run is made of: a machine and a workload, each a file that a user can copy and change.
//!
//! These are plain values, checked when they are made from the files; the model takes them as they are.
//! Times of the workload are for the reference processor (370/158-3 = 1); the model divides them by
//! [`Processors::speed`]. Costs of the control program are for this machine's processor.

pub mod explain;
mod free_storage;
mod machine;
mod multiprocessor;
pub(crate) mod peers;
mod population;
pub mod read;
mod swapping;
mod workload;

pub use free_storage::{FreeStoragePlan, MOMENTS, Moment, SUBPOOLS, StorageRequest};
pub use machine::{
    Costs, DeviceUnit, INVOLUNTARY_DROPS, Machine, PageArea, PagingPlan, PagingRate, PeriodicScan, Policies,
    Processors, QUEUE_DROP_DEFAULT, Role, SchedulerFigures, StorageFigures,
};
pub use multiprocessor::{
    Interrupts, LockPlan, LockWait, MOST_PROCESSORS, Multiprocessor, ProcessorRole, ProcessorUnit, Work,
};
pub use peers::{
    Compression, Migration, MigrationOrder, Neighbours, Peers, Prefetch, Readahead, Sampling, Window,
};
pub use population::{Program, class_of, programs};
pub use swapping::{MOST_SET_PAGES, PhysicalOrder, Prepage, Purpose, SwapFaults, SwappingPlan};
pub use workload::{
    Background, IoPattern, Locality, Population, Session, TransactionKind, UserClass, Workload,
};
