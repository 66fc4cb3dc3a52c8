//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::draws::DrawsKey;
use crate::lines::Target;
use crate::lines::ssh::Carrier;
use crate::plan::{parse_duration, parse_processors};

const ABOUT: &str = "Pseudo-users on terminals of their own: they log on, think, type and wait, and every \
    transaction is recorded.";

const LATE: &str = "A run says of itself in sources/terminal.toml whether it was late. It was when, over the \
    measured windows, the 99th percentile of lateness (line end sent against when it was due) is above 10 ms, or \
    when the emulator, or an ssh that carries its lines, used more than 80 % of one processor. \
    Every line's lateness is recorded: `satline diagnose` weighs it against the response and the load.\n\n\
    Exit status: 0 the plan is done; 1 something failed; 2 the input was wrong; 130, 143, 129 stopped by SIGINT, \
    SIGTERM (or the end of standard input with --watch-stdin), SIGHUP.";

#[derive(Debug, Parser)]
#[command(name = "satline-terminal", version, about = ABOUT, after_help = LATE)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run the users of a workload in steps.
    Run(Box<RunOptions>),
    /// Check a workload file, and do nothing else.
    Check {
        /// The workload file.
        file: PathBuf,
        /// As for run.
        #[arg(long, value_name = "LINE", value_parser = Target::parse)]
        line: Option<Target>,
    },
    /// The owner's side: on the host that is to be driven, allow an emulator elsewhere to do so, for as long as this runs.
    Allow(AllowOptions),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressOption {
    None,
    Json,
}

/// A list of processors, such as 0,2-3.
#[derive(Debug, Clone)]
pub struct Processors(pub Vec<usize>);

#[derive(Debug, Args)]
#[command(after_help = LATE)]
pub struct RunOptions {
    /// Workload file.
    #[arg(long, value_name = "FILE.toml")]
    pub workload: PathBuf,
    /// Where the users' lines lead: pty, tcp:HOST:PORT, tls:HOST:PORT, telnet:HOST:PORT, ssh:USER@HOST:PORT,
    /// http://HOST:PORT or https://HOST[:PORT]. Default: as the workload says.
    #[arg(long, value_name = "LINE", value_parser = Target::parse)]
    pub line: Option<Target>,
    /// Lines under TLS: file of the authorities' certificates that are believed. Default: as the workload says, then
    /// the host's own.
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Lines over SSH: what carries them, OpenSSH's client or libssh2 in this program, which costs less. Default: as the
    /// workload says, then ssh.
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub ssh_client: Option<Carrier>,
    /// Lines over SSH: file of the key. Default: as the workload says, then as ssh is configured.
    #[arg(long, value_name = "FILE")]
    pub ssh_identity: Option<PathBuf>,
    /// Lines over SSH: file of known hosts; the host's key must be in it. Default: as for --ssh-identity.
    #[arg(long, value_name = "FILE")]
    pub ssh_known_hosts: Option<PathBuf>,
    /// Lines over SSH: users on one connection; 1: each has its own. Default: as the workload says, then 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub ssh_sessions: Option<u16>,
    /// List of hosts other than this one that may be driven, from their owners.
    #[arg(long, value_name = "FILE.toml")]
    pub allow: Option<PathBuf>,
    /// Recording to write into; made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub recording: PathBuf,
    /// Users of each step; fewer than before log off.
    #[arg(long, value_name = "N,…", value_delimiter = ',', required = true)]
    pub steps: Vec<usize>,
    /// Further steps come on standard input, a line each: a number of users, then, where they are not those of the options,
    /// ramp=TIME, warmup=TIME, window=TIME (`12 warmup=3s window=14s`); and `end` after the last. In between the users
    /// go on, the recording holds all until then, and progress says `hold`.
    #[arg(long, requires = "watch_stdin")]
    pub follow: bool,
    /// Time over which the users of a step log on or off.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub ramp: i64,
    /// The ramp is that long for each user who logs on or off.
    #[arg(long)]
    pub ramp_per_user: bool,
    /// Time after the ramp that is not measured.
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = parse_duration)]
    pub warmup: i64,
    /// Measured time of a step.
    #[arg(long, value_name = "TIME", default_value = "12s", value_parser = parse_duration)]
    pub window: i64,
    /// Time for answers that are outstanding at the end.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub drain: i64,
    /// Time within which a shell must give its first prompt; the last one given counts.
    #[arg(long, overrides_with = "logon_timeout", value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub logon_timeout: i64,
    /// Seed of all random draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How users draw think times, commands and what fills their places: each draw by itself, or so that a user's draws
    /// fill their distribution evenly. Default: as the workload says, then stratified.
    #[arg(long, value_enum, value_name = "HOW")]
    pub draws: Option<DrawsKey>,
    /// Each shell writes 0 to this file before it starts, which puts it into that control group; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub cgroup_procs: Vec<PathBuf>,
    /// Processors for the shells, such as 0,2-3.
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub affinity: Option<Processors>,
    /// Processor for the emulator itself.
    #[arg(long, value_name = "N")]
    pub processor: Option<usize>,
    /// Variable for the shells' environment; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// File to which process number, tabulator and user of each shell are appended.
    #[arg(long, value_name = "PATH")]
    pub users_file: Option<PathBuf>,
    /// Directory in which each user gets a private one, removed at the end. Default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Refuse steps of more users.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_users: usize,
    /// All users together send at most so many lines a second; further ones wait, and the run is marked late.
    #[arg(long, value_name = "N", default_value_t = 100_000.0)]
    pub max_rate: f64,
    /// Refuse plans that take longer.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_duration)]
    pub max_time: i64,
    /// Progress on standard output, twice a second.
    #[arg(long, value_enum, default_value_t = ProgressOption::None)]
    pub progress: ProgressOption,
    /// Stop when standard input ends, so that the emulator does not outlive its parent.
    #[arg(long)]
    pub watch_stdin: bool,
}

#[derive(Debug, Args)]
pub struct AllowOptions {
    /// Where emulators ask; the address is that of the host to be driven.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// The host whose emulator may come.
    #[arg(long = "for", value_name = "ADDRESS")]
    pub client: IpAddr,
    /// The port of this host that may be driven.
    #[arg(long, value_name = "PORT")]
    pub port: u16,
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_users: usize,
    /// Lines a second.
    #[arg(long, value_name = "N", default_value_t = 100.0)]
    pub max_rate: f64,
    /// Longest run.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub max_time: i64,
    /// Allow nothing after this time; runs under way end.
    #[arg(long, value_name = "TIME", default_value = "8h", value_parser = parse_duration)]
    pub until: i64,
}

fn processors(text: &str) -> Result<Processors, String> {
    parse_processors(text).map(Processors)
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !text.contains('\0') => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(format!("{text:?} is not KEY=VALUE")),
    }
}
