//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Swap out the working sets of idle users in order of address when storage is short, and read them back as sets when the
/// users return.
#[derive(Debug, Clone, Parser)]
#[command(name = "satline-swapper", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Watch the users of a policy until SIGTERM
    Run(Run),
    /// Check a policy file and print it with its defaults, as JSON
    Check {
        /// The policy file
        policy: PathBuf,

        /// Print an object of the policy and the meanings of all keys
        #[arg(long)]
        meanings: bool,
    },
    /// Say what this kernel lacks for a policy, as JSON
    Abilities {
        /// The policy file
        policy: PathBuf,
    },
    /// Run the decisions over observations, one JSON object a line, from standard input
    Replay {
        /// The policy file
        policy: PathBuf,
    },
}

/// `run`.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// The policy file
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,

    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Directory of a recording to write into; made if absent
    #[arg(long, value_name = "DIR")]
    pub recording: Option<PathBuf>,

    /// Where to write the status every second; beside it, with the ending `.socket`, users are announced
    #[arg(long, value_name = "FILE")]
    pub status: Option<PathBuf>,

    /// Answer Prometheus on this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,

    /// Where the kernel's process files are
    #[arg(long, value_name = "DIR", default_value = "/proc", hide_short_help = true)]
    pub proc: PathBuf,

    /// Where the kernel's device files and control groups are
    #[arg(long, value_name = "DIR", default_value = "/sys", hide_short_help = true)]
    pub sys: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
