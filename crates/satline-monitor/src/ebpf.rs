//! The kernel's own witness: programs that run in the kernel and tell what `/proc` cannot, or tells at ten times the cost.

pub mod call;
pub mod contention;
pub mod object;
pub mod services;
pub mod tasks;
pub mod terminals;
pub mod waits;
