//! Space kept back, so that a recording can say that it ended, and why, on a full disk.
//!
//! Blocks that are given back to the file system may go to whoever fills the disk. So nothing is given back: each file
//! that tells of the end has a reserve of its own, and on a full disk that reserve is written over and becomes the file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use satline_program::Error;

/// Bytes of `reserve`, which `recording.toml` may become: the study and its workload are in there.
const DESCRIPTION_BYTES: usize = 64 * 1024;
/// Bytes of `sources/.<writer>.reserve`, which `sources/<writer>.toml` may become.
const SOURCE_BYTES: usize = 16 * 1024;

/// Makes the reserves of a recording and of one of its writers unless they are there.
///
/// # Errors
/// No space, or another error of the disk.
pub(crate) fn make(dir: &Path, writer: &str) -> Result<(), Error> {
    fill(&reserve_of(&dir.join("recording.toml")), DESCRIPTION_BYTES)?;
    let source = dir.join("sources").join(format!("{writer}.toml"));
    fill(&reserve_of(&source), SOURCE_BYTES)
}

/// Replaces `path` with `text` as [`replace_atomically`](crate::description) does, but takes no new block for it.
///
/// # Errors
/// Whatever the system says; `NotFound` if the reserve is spent.
pub(crate) fn become_file(path: &Path, text: &str) -> io::Result<()> {
    let reserve = reserve_of(path);
    let mut file = OpenOptions::new().write(true).open(&reserve)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()?;
    fs::rename(&reserve, path)
}

/// `reserve` for `recording.toml`, `.<writer>.reserve` for `<writer>.toml`.
fn reserve_of(path: &Path) -> PathBuf {
    match path.file_stem().unwrap_or_default().to_string_lossy().as_ref() {
        "recording" => path.with_file_name("reserve"),
        writer => path.with_file_name(format!(".{writer}.reserve")),
    }
}

/// Filled, not sparse: its blocks are the point. One that a loss of power left short is filled again.
fn fill(path: &Path, bytes: usize) -> Result<(), Error> {
    let failed = |e| Error::file(path, "create it", &e);
    let mut options = OpenOptions::new();
    options.append(true).create(true).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(path).map_err(failed)?;
    let there = file.metadata().map_err(failed)?.len();
    let missing = bytes.saturating_sub(usize::try_from(there).unwrap_or(bytes));
    if missing == 0 {
        return Ok(());
    }
    let written = file.write_all(&vec![0; missing]).and_then(|()| file.sync_all());
    written.map_err(|e| {
        let _ = fs::remove_file(path);
        failed(e)
    })
}
