//! HTML pages in a real browser: headless Chromium, driven by its DevTools protocol.
//!
//! [`open`] loads a page and gives what a reader would find: the document after its scripts ran, and every error. Where no
//! browser is installed it says so and gives nothing, unless `CI` or `SAMPLER_CHAIN_BROWSER=required` is set: then the test
//! fails.
#![allow(dead_code)] // Each file of tests uses its part.

mod devtools;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use devtools::DevTools;

/// A page as it is after its scripts ran.
#[derive(Debug)]
pub struct Opened {
    /// The document, as HTML.
    pub dom: String,
    /// Uncaught exceptions, `console.error`, what the browser itself logs as an error, and everything that the page tried to
    /// load beside itself: a page has to be self-contained.
    pub errors: Vec<String>,
    /// What the script of [`run`] gave; null for [`open`].
    pub value: Value,
}

/// How a picture is taken.
#[derive(Debug, Clone, Copy)]
pub struct Look<'f> {
    /// What stands behind the # of the address.
    pub fragment: &'f str,
    /// In CSS pixels.
    pub width: u32,
    /// In CSS pixels.
    pub height: u32,
    /// Whether the reader likes dark pages.
    pub dark: bool,
}

impl Default for Look<'_> {
    fn default() -> Self {
        Self { fragment: "", width: 1200, height: 800, dark: false }
    }
}

/// Opens a page, with `fragment` behind the # of its address (empty for none).
pub fn open(page: &Path, fragment: &str) -> Option<Opened> {
    run(page, fragment, "null")
}

/// The same, and evaluates a script in the page before its document is taken. The script may give a promise, or
/// anything that is JSON.
pub fn run(page: &Path, fragment: &str, script: &str) -> Option<Opened> {
    let mut browser = start(&Look::default())?;
    browser.go(&address(page, fragment));
    let value = browser.evaluate(script);
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    let dom = browser.evaluate("document.documentElement.outerHTML").as_str().unwrap_or_default().to_string();
    Some(Opened { dom, errors: browser.close(), value })
}

/// Takes a picture of a page, as a PNG.
pub fn screenshot(page: &Path, png: &Path) -> Option<()> {
    screenshot_as(page, png, Look::default())
}

/// The same, seen in another way.
pub fn screenshot_as(page: &Path, png: &Path, look: Look<'_>) -> Option<()> {
    let mut browser = start(&look)?;
    browser.go(&address(page, look.fragment));
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    std::fs::write(png, browser.picture()).unwrap_or_else(|error| panic!("{}: {error}", png.display()));
    browser.close();
    Some(())
}

fn start(look: &Look<'_>) -> Option<DevTools> {
    let Some(program) = installed() else {
        let is = |name: &str| std::env::var(name).unwrap_or_default();
        let what = "no browser is installed (chromium, chromium-browser, google-chrome in PATH, or CHROMIUM)";
        assert!(is("CI").is_empty() && is("SAMPLER_CHAIN_BROWSER") != "required", "{what}, and one is required");
        // Written to the terminal itself: the harness hides what a passing test prints.
        let said = format!("\nSKIPPED: a page was NOT opened: {what}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
        return None;
    };
    let mut browser = DevTools::launch(&program);
    let Look { width, height, dark, .. } = *look;
    let scheme = if dark { "dark" } else { "light" };
    let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.call("Emulation.setEmulatedMedia", media);
    let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    Some(browser)
}

/// The browser's program.
fn installed() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

fn address(page: &Path, fragment: &str) -> String {
    let page = page.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let escape = |byte: u8| if is_plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    let path: String = page.to_str().expect("the page's path is UTF-8").bytes().map(escape).collect();
    if fragment.is_empty() { format!("file://{path}") } else { format!("file://{path}#{fragment}") }
}
