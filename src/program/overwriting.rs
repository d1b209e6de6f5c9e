//! What is written must not be what is read, nor another thing that is written.

use std::path::{Path, PathBuf};

/// A file of the command line, and the flag that names it.
pub type Named<'p> = (&'static str, &'p Path);

/// Refuses an output that is one of the inputs, or another output.
pub fn refuse(outputs: &[Named<'_>], inputs: &[Named<'_>]) -> Result<(), String> {
    for (i, (flag, path)) in outputs.iter().enumerate() {
        let place = place(path);
        let others = inputs.iter().chain(&outputs[..i]);
        if let Some((other, _)) = others.into_iter().find(|(_, other)| self::place(other) == place) {
            return Err(format!("{flag}: {} is what {other} names, and would be written over", path.display()));
        }
    }
    Ok(())
}

/// Where a file is, or would be.
fn place(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    whole.or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}
