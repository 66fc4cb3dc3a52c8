//! Options of the program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Page-reference traces, and replacement policies replayed on them.
#[derive(Debug, Parser)]
#[command(name = "satline-traces", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read a trace and keep it in the compact form
    Import(Import),
    /// Replay policies on a trace
    Replay(Replay),
    /// List the policies
    Policies(Listing),
    /// List the text formats
    Formats(Listing),
}

#[derive(Debug, Args)]
pub struct Listing {
    #[arg(long)]
    pub json: bool,
}

/// How a source is read.
#[derive(Debug, Clone, Args)]
pub struct Source {
    /// The trace; `-` is standard input
    pub trace: PathBuf,
    /// Format of a text [default: guessed]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Page size of a text with addresses or bytes; a power of two [default: 4096]
    #[arg(long, value_name = "BYTES")]
    pub page_bytes: Option<u64>,
    /// Consecutive references to one page are one, or not [default: as usual for the format]
    #[arg(long, value_name = "true|false")]
    pub join: Option<bool>,
    /// Only so many references
    #[arg(long, value_name = "N")]
    pub first: Option<u64>,
    /// Print progress as lines of JSON on standard error
    #[arg(long)]
    pub progress: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Import {
    #[command(flatten)]
    pub source: Source,
    /// The file to write; it must not be there
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The command whose references they are, for the head
    #[arg(long, value_name = "TEXT")]
    pub command: Option<String>,
    /// A remark for the head
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// How hard zstd packs
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(i32).range(1..=22))]
    pub level: i32,
}

#[derive(Debug, Args)]
pub struct Replay {
    #[command(flatten)]
    pub source: Source,
    /// Policies, by commas [default: all]
    #[arg(long, value_name = "A,B")]
    pub policies: Option<String>,
    /// Sizes in pages, or as a part of the footprint: 64,256,10%
    #[arg(long, value_name = "N,P%", default_value = "1%,2%,5%,10%,20%,40%,60%,80%")]
    pub sizes: String,
    /// LRU's misses at every size too, in one pass (with --json)
    #[arg(long)]
    pub curve: bool,
    /// Seed of policies that draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Replays at a time [default: one per processor]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
}
