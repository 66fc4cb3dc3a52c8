//! Models that tests and benches share.
#![allow(dead_code)] // Each test or example uses its part.

pub mod central_server;
pub mod open_check;
pub mod paging_load;
