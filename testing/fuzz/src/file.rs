//! Bytes as a file, for what is read by its path. One file a thread, written over again and again: TMPDIR=/dev/shm keeps it off
//! the disk.

use std::path::Path;

use tempfile::TempDir;

thread_local! {
    static DIR: TempDir = tempfile::tempdir().expect("there is a folder for temporary files");
}

/// Shows the bytes as a file of this name.
pub fn with_file<T>(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    DIR.with(|dir| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        read(&path)
    })
}
