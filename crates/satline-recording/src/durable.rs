//! Names that survive a loss of power: a file's bytes are durable when it was synced, its name when its directory was.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes the names in a directory durable, where the file system can.
///
/// # Errors
/// An error of the disk. A file system that cannot sync a directory, and one that may not be listed, are none.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // That of a plain file name.
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let synced = match File::open(directory) {
        Ok(open) => open.sync_all(),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(e) => return Err(e),
    };
    match synced {
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(libc::EINVAL | libc::ENOTSUP | libc::ENOSYS | libc::EBADF | libc::EROFS)
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Makes a directory and those above it, each with a durable name; one that is there is no error.
///
/// # Errors
/// Whatever the system says.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let above = directory.parent().unwrap_or(Path::new(""));
    make_directory(above)?;
    match fs::create_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        Err(e) => return Err(e),
        Ok(()) => {}
    }
    sync_directory(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_down_to_the_last_and_may_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make_directory(&deep).unwrap();
        make_directory(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(make_directory(&dir.path().join("file")).is_err());
        assert!(make_directory(&dir.path().join("file/below")).is_err());
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        sync_directory(dir.path()).unwrap();
        assert_eq!(
            sync_directory(&dir.path().join("none")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
