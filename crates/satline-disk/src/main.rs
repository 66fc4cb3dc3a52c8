//! `satline-disk`: one file whose reads and writes take as long as those of a chosen disk.
//!
//! The file is a file system of its own in user space (FUSE); a loop device on it is a disk for the kernel.
//! What is written is held in main storage and is gone when the file is unmounted, which ends the program.

mod fuse;
mod model;
mod serve;
mod store;
mod sys;

use clap::{Parser, Subcommand};
use model::{Disk, Network, Rotating};
use satline_program::{Error, Result};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes of a page, the unit in which the disk is held.
const PAGE_BYTES: u64 = 4096;

/// Serve FILE, which must be there, as a disk of that size and character, until it is unmounted.
#[derive(Debug, Parser)]
#[command(name = "satline-disk", version)]
struct Options {
    /// An empty file, on which the disk is mounted
    file: PathBuf,
    /// Size, a multiple of 4096
    #[arg(long, value_name = "N")]
    bytes: u64,
    #[command(subcommand)]
    character: Character,
}

#[derive(Debug, Subcommand)]
enum Character {
    /// A disk behind a network: a latency that requests share, and a limit of requests per second
    Network(Network),
    /// One arm over turning platters: seek by distance, wait for the place to come round, transfer
    Rotating(Rotating),
}

fn disk_of(options: &Options) -> Result<Disk> {
    if options.bytes == 0 || options.bytes % PAGE_BYTES != 0 {
        return Err(Error::input(
            format!("--bytes {} is no multiple of {PAGE_BYTES}", options.bytes),
            "write whole pages, at least one",
        ));
    }
    match &options.character {
        Character::Network(network) => network.disk(),
        Character::Rotating(rotating) => rotating.disk(),
    }
    .map_err(|what| Error::input(what, "write a number above 0"))
}

fn serve(options: &Options, disk: Disk) -> io::Result<()> {
    sys::be_prompt()?;
    let device = sys::mount(&options.file)?;
    println!("ready");
    io::stdout().flush()?;
    serve::serve(device, disk, options.bytes)
}

fn run(options: &Options) -> Result<()> {
    let hint = "it needs root, /dev/fuse, and a file that is there";
    serve(options, disk_of(options)?).map_err(|error| Error::system(options.file.display(), &error, hint))
}

fn main() -> ExitCode {
    let options = Options::try_parse().unwrap_or_else(|error| {
        let code = error.exit_code();
        // Nothing can be said where even standard error is closed.
        let _ = error.print();
        if code != 0 {
            eprintln!("hint: `satline-disk --help` lists the characters and their flags");
        }
        std::process::exit(code)
    });
    satline_program::ended(run(&options), "satline-disk")
}
