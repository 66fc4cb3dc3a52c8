//! Names of files in a recording, and the number of a writer's next run.

use std::fs;
use std::io;
use std::path::Path;

use satline_program::Error;

/// What the name of a segment or of a file at rest says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileName<'a> {
    pub writer: &'a str,
    pub run: i64,
}

/// Reads `<writer>-<run>-<sequence>.seg`; none if it is another file.
pub(crate) fn parse_segment(name: &str) -> Option<FileName<'_>> {
    let (rest, sequence) = name.strip_suffix(".seg")?.rsplit_once('-')?;
    number(sequence)?;
    writer_and_run(rest)
}

/// Reads `<writer>-<run>-<first>-<last>.parquet`; none if it is another file.
pub(crate) fn parse_parquet(name: &str) -> Option<FileName<'_>> {
    let (rest, last) = name.strip_suffix(".parquet")?.rsplit_once('-')?;
    number(last)?;
    let (rest, first) = rest.rsplit_once('-')?;
    number(first)?;
    writer_and_run(rest)
}

/// Reads `<writer>-<run>.ledger`; none if it is another file.
pub(crate) fn parse_ledger(name: &str) -> Option<FileName<'_>> {
    writer_and_run(name.strip_suffix(".ledger")?)
}

fn writer_and_run(text: &str) -> Option<FileName<'_>> {
    let (writer, run) = text.rsplit_once('-')?;
    is_writer_name(writer).then_some(())?;
    Some(FileName {
        writer,
        run: number(run)?,
    })
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Whether a writer may be called this: its name becomes part of file names.
pub(crate) fn is_writer_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

/// One more than the highest run that any file of this writer names, segments, ledgers and files at rest; 1 if there are
/// none.
pub(crate) fn next_run(dir: &Path, writer: &str) -> Result<i64, Error> {
    let mut highest = 0;
    for table in entries(&dir.join("segments"))? {
        highest = highest.max(run_of(&table, writer, parse_ledger));
        for file in entries(&table)? {
            highest = highest.max(run_of(&file, writer, parse_segment));
        }
    }
    for table in entries(&dir.join("tables"))? {
        for day in entries(&table)? {
            for file in entries(&day)? {
                highest = highest.max(run_of(&file, writer, parse_parquet));
            }
        }
    }
    Ok(highest + 1)
}

fn run_of(path: &Path, writer: &str, parse: fn(&str) -> Option<FileName<'_>>) -> i64 {
    let parsed = path.file_name().and_then(|n| n.to_str()).and_then(parse);
    parsed.filter(|p| p.writer == writer).map_or(0, |p| p.run)
}

/// Files of a directory; none where it does not exist or is a file.
fn entries(dir: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let failed = |e| Error::file(dir, "list it", &e);
    match fs::read_dir(dir) {
        Ok(list) => list
            .map(|entry| entry.map(|e| e.path()).map_err(failed))
            .collect(),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(e) => Err(failed(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_right() {
        assert_eq!(
            parse_segment("my-host-12-3.seg"),
            Some(FileName {
                writer: "my-host",
                run: 12
            })
        );
        assert_eq!(
            parse_parquet("monitor-2-0-17.parquet"),
            Some(FileName {
                writer: "monitor",
                run: 2
            })
        );
        for other in [
            "monitor-1.seg",
            "monitor-1-x.seg",
            "-1-0.seg",
            ".monitor-1-0.seg.tmp",
            "Monitor-1-0.seg",
        ] {
            assert_eq!(parse_segment(other), None, "{other}");
        }
        assert_eq!(parse_parquet("monitor-1-0.parquet"), None);
        assert_eq!(parse_segment("monitor-99999999999999999999-0.seg"), None);
    }

    #[test]
    fn the_next_run_counts_segments_and_files_at_rest_of_this_writer_only() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(next_run(dir.path(), "monitor").unwrap(), 1);
        let touch = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        touch("segments/user/monitor-3-0.seg");
        touch("segments/event/terminal-9-0.seg");
        assert_eq!(next_run(dir.path(), "monitor").unwrap(), 4);
        touch("tables/user/day=2026-11-21/monitor-5-0-2.parquet");
        touch("tables/user/stray.txt");
        assert_eq!(next_run(dir.path(), "monitor").unwrap(), 6);
        touch("segments/monitor-6.ledger");
        assert_eq!(next_run(dir.path(), "monitor").unwrap(), 7);
    }
}
