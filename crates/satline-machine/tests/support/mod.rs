//! Models that tests and benches share.
#![allow(dead_code)] // Each test or example uses its part.

pub mod bare_storage;
pub mod central_server;
pub mod files;
pub mod machines;
pub mod open_check;
pub mod paging_load;
pub mod small_system;
pub mod swapping;
