//! What a probe does: the parameters of the one routine, and the presets by name.

use std::fmt;

use satline_program::{Error, Result};

const LONGEST_CPU_SECONDS: f64 = 3600.0;
const MOST_FILE_IOS: u64 = 1_000_000;
const LARGEST_IO_BYTES: u64 = 16 << 20;
const MOST_INTERACTIONS: u64 = 1_000_000;

/// Parameters of the synthetic routine [Bard].
///
/// `cpu_seconds`: processor time to use, s. `file_ios`: reads of a file of its own that miss the page cache.
/// `io_bytes`: size of each. `terminal_interactions`: lines sent over a pty and answered. `pages`: pages of main
/// storage mapped and touched twice, in random order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    pub cpu_seconds: f64,
    pub file_ios: u64,
    pub io_bytes: u64,
    pub terminal_interactions: u64,
    pub pages: u64,
}

impl Parameters {
    pub const NOTHING: Self = Self {
        cpu_seconds: 0.0,
        file_ios: 0,
        io_bytes: 4096,
        terminal_interactions: 0,
        pages: 0,
    };

    /// Checks every parameter against its range; `storage_pages` is the size of main storage in pages.
    pub fn check(&self, storage_pages: u64) -> Result<()> {
        if !(0.0..=LONGEST_CPU_SECONDS).contains(&self.cpu_seconds) {
            return Err(Error::input(
                format!("--cpu-seconds {} is out of range", self.cpu_seconds),
                format!("give a number of seconds from 0 to {LONGEST_CPU_SECONDS}"),
            ));
        }
        let range = |flag: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(Error::input(
                format!("{flag} {value} is out of range"),
                format!("give a number from {low} to {high}"),
            ))
        };
        range("--file-ios", self.file_ios, 0, MOST_FILE_IOS)?;
        range("--io-bytes", self.io_bytes, 1, LARGEST_IO_BYTES)?;
        range(
            "--terminal-interactions",
            self.terminal_interactions,
            0,
            MOST_INTERACTIONS,
        )?;
        // Half of main storage: a probe must never be the one that exhausts it.
        range("--pages", self.pages, 0, storage_pages / 2)?;
        if *self
            == (Self {
                io_bytes: self.io_bytes,
                ..Self::NOTHING
            })
        {
            return Err(Error::input(
                "there is nothing to do: every parameter is 0",
                "name a preset (trivial, io, compute, paging, mixed) or give at least one of --cpu-seconds, \
                 --file-ios, --terminal-interactions, --pages",
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cpu_seconds={} file_ios={} io_bytes={} terminal_interactions={} pages={}",
            self.cpu_seconds, self.file_ios, self.io_bytes, self.terminal_interactions, self.pages
        )
    }
}

/// The presets. Sizes keep a probe under about 0.1 s of an idle host, so that running one every ten seconds costs
/// about a hundredth of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// The smallest interactive command: 10 lines over a terminal
    Trivial,
    /// 64 reads of 4 KiB that miss the page cache
    Io,
    /// 0.1 s of processor time
    Compute,
    /// 4096 pages touched twice in random order
    Paging,
    /// A bit of each
    Mixed,
}

impl Preset {
    pub fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Io => "io",
            Self::Compute => "compute",
            Self::Paging => "paging",
            Self::Mixed => "mixed",
        }
    }

    pub fn parameters(self) -> Parameters {
        let nothing = Parameters::NOTHING;
        match self {
            Self::Trivial => Parameters {
                terminal_interactions: 10,
                ..nothing
            },
            Self::Io => Parameters {
                file_ios: 64,
                ..nothing
            },
            Self::Compute => Parameters {
                cpu_seconds: 0.1,
                ..nothing
            },
            Self::Paging => Parameters {
                pages: 4096,
                ..nothing
            },
            Self::Mixed => Parameters {
                cpu_seconds: 0.03,
                file_ios: 16,
                terminal_interactions: 5,
                pages: 1024,
                ..nothing
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    const STORAGE: u64 = 1 << 20;

    #[test]
    fn every_preset_is_within_the_ranges() {
        for preset in Preset::value_variants() {
            preset
                .parameters()
                .check(STORAGE)
                .unwrap_or_else(|e| panic!("{preset:?}: {e}"));
        }
    }

    #[test]
    fn parameters_print_as_documented() {
        assert_eq!(
            Preset::Io.parameters().to_string(),
            "cpu_seconds=0 file_ios=64 io_bytes=4096 terminal_interactions=0 pages=0"
        );
        assert!(
            Preset::Compute
                .parameters()
                .to_string()
                .starts_with("cpu_seconds=0.1 ")
        );
    }

    #[test]
    fn values_out_of_range_name_their_flag() {
        let nothing = Parameters {
            terminal_interactions: 1,
            ..Parameters::NOTHING
        };
        let cases = [
            (
                Parameters {
                    cpu_seconds: f64::NAN,
                    ..nothing
                },
                "--cpu-seconds",
            ),
            (
                Parameters {
                    cpu_seconds: -1.0,
                    ..nothing
                },
                "--cpu-seconds",
            ),
            (
                Parameters {
                    cpu_seconds: f64::INFINITY,
                    ..nothing
                },
                "--cpu-seconds",
            ),
            (
                Parameters {
                    file_ios: u64::MAX,
                    ..nothing
                },
                "--file-ios",
            ),
            (
                Parameters {
                    io_bytes: 0,
                    ..nothing
                },
                "--io-bytes",
            ),
            (
                Parameters {
                    io_bytes: 1 << 40,
                    ..nothing
                },
                "--io-bytes",
            ),
            (
                Parameters {
                    terminal_interactions: u64::MAX,
                    ..nothing
                },
                "--terminal-interactions",
            ),
            (
                Parameters {
                    pages: STORAGE,
                    ..nothing
                },
                "--pages",
            ),
        ];
        for (parameters, flag) in cases {
            let error = parameters.check(STORAGE).unwrap_err();
            assert!(error.to_string().contains(flag), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn nothing_to_do_is_refused() {
        let parameters = Parameters {
            io_bytes: 512,
            ..Parameters::NOTHING
        };
        assert!(
            parameters
                .check(STORAGE)
                .unwrap_err()
                .to_string()
                .contains("nothing to do")
        );
    }
}
