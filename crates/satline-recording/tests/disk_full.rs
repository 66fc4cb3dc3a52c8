//! A full disk, on a small file system of its own. Needs root to mount one; says so and passes where it cannot.

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use satline_recording::{
    HostFacts, RecordingDescription, RecordingWriter, WriterOptions, create_if_absent, end_recording,
    read_segment, write_toml_at_end, write_toml_atomically,
};

/// A tmpfs of `bytes` that is gone when this is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(bytes: usize) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let target = CString::new(dir.path().as_os_str().as_bytes()).unwrap();
        let size = CString::new(format!("size={bytes}")).unwrap();
        // SAFETY: all pointers are to strings that live through the call.
        let result = unsafe {
            libc::mount(
                c"tmpfs".as_ptr(),
                target.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                size.as_ptr().cast(),
            )
        };
        if result != 0 {
            let why = std::io::Error::last_os_error();
            eprintln!("skipped: cannot mount a small file system: {why}");
            return None;
        }
        Some(SmallDisk(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let target = CString::new(self.0.path().as_os_str().as_bytes()).unwrap();
        // SAFETY: the pointer is to a string that lives through the call.
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_leaves_it_valid() {
    let Some(disk) = SmallDisk::mount(400 * 1024) else {
        return;
    };
    let dir = disk.path().join("x.satline");
    let description = RecordingDescription::plain("satline-monitor", 0, HostFacts::default()).unwrap();
    assert!(create_if_absent(&dir, &description).unwrap());
    let mut writer = RecordingWriter::open(&dir, "monitor", WriterOptions::default()).unwrap();
    assert_eq!(fs::metadata(dir.join("reserve")).unwrap().len(), 64 * 1024);
    let event = writer.table("event").unwrap();
    let text = writer.column(event, "text").unwrap();
    let mut written = 0;
    let error = loop {
        for i in 0..15 {
            writer.begin_row(event, 0, 0);
            writer.set_text(text, &format!("{written} {i} {}", "y".repeat(100)));
            writer.end_row(event);
        }
        match writer.flush() {
            Ok(()) => written += 15,
            Err(error) => break error,
        }
        assert!(written < 100_000, "the disk never filled");
    };
    assert!(error.is_disk_full(), "{error}");
    assert!(error.to_string().contains("monitor-1-0.seg"), "{error}");
    let contents = read_segment(&dir.join("segments/event/monitor-1-0.seg")).unwrap();
    assert_eq!((contents.rows(), contents.damage), (written, None));
    // Somebody else takes what is left, to the last block; the reserves are the writer's all the same.
    let mut filler = fs::File::create(disk.path().join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    let source = toml::toml! { writer = "monitor" end_reason = "disk-full" };
    let path = dir.join("sources/monitor.toml");
    assert!(write_toml_atomically(&path, &source).unwrap_err().is_disk_full());
    write_toml_at_end(&path, &source).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    let (said, sealed) = written.split_at(toml::to_string(&source).unwrap().len());
    assert_eq!(said, toml::to_string(&source).unwrap());
    assert!(sealed.starts_with("# recording="), "{sealed}");
    end_recording(&dir, 1_000_000_000, "disk-full").unwrap();
    let text = fs::read_to_string(dir.join("recording.toml")).unwrap();
    let ended: RecordingDescription = toml::from_str(&text).unwrap();
    assert_eq!(ended.recording.end_reason.as_deref(), Some("disk-full"));
    assert_eq!(ended.recording.id, description.recording.id);
    assert!(writer.finish().unwrap_err().is_disk_full());
    assert!(writer.finish().unwrap_err().is_disk_full());
}

#[test]
fn no_space_for_the_reserve_is_a_full_disk_too() {
    let Some(disk) = SmallDisk::mount(32 * 1024) else {
        return;
    };
    let error = RecordingWriter::open(disk.path(), "monitor", WriterOptions::default())
        .err()
        .unwrap();
    assert!(error.is_disk_full(), "{error}");
    assert!(!disk.path().join("reserve").exists());
}
