//! Pseudo-users on terminals of their own, which time every reaction and response.
//!
//! One thread drives all users by one timer heap and one epoll set; a user is a state machine (`user`), its terminal's
//! output is read by `reader`, its lines are drawn from the workload file (`workload`), and each transaction becomes
//! a row of the recording (`recorder`).

pub mod allow;
mod calibration;
pub mod cli;
mod clients;
mod common;
mod door;
pub mod draws;
mod emulator;
mod environment;
mod line;
pub mod lines;
mod open;
pub mod plan;
pub mod poll;
pub mod processes;
pub mod progress;
pub mod random;
mod rate;
pub mod reader;
pub mod recorder;
mod run;
pub mod screen;
pub mod secret;
mod start;
pub mod statistics;
pub mod strip;
pub mod timers;
mod user;
pub mod workload;

pub use run::run;
