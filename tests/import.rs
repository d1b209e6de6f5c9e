//! Presets of other programs, written by hand in their shapes, against the chains and reports that they must become.
//!
//! `import/<format>/NAME.*` is a preset, `NAME.chain.toml` its chain, `NAME.report.txt` its report, under the command that
//! makes both.

#[path = "import/community.rs"]
mod community;
#[path = "import/errors.rs"]
mod errors;
#[path = "import/fixtures.rs"]
mod fixtures;
#[path = "import/oracle.rs"]
mod oracle;
#[path = "import/robust.rs"]
mod robust;
#[path = "import/same.rs"]
mod same;
