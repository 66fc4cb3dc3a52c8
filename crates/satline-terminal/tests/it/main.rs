//! The tests of this crate in one program: each program more would be linked, and compile what it uses, once more.

#[path = "../support/mod.rs"]
mod support;

mod endings;
mod http;
mod lines;
mod open;
mod reader;
mod run;
mod ssh;
mod ssh2;
mod telnet;
mod tls;
