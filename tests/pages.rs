//! The browser in which pages are tested: it runs scripts, takes pictures, and tells what is wrong with a page.

mod browser;

use std::path::PathBuf;

/// A page in a folder that is gone with the guard.
fn page(html: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a page#1.html");
    std::fs::write(&path, html).unwrap();
    (dir, path)
}

#[test]
fn the_browser_runs_scripts_and_takes_pictures() {
    let (dir, path) = page("<!doctype html><p id=p></p><script>p.textContent = 'at ' + location.hash</script>");
    let Some(opened) = browser::open(&path, "row=3") else { return };
    assert!(opened.dom.contains("<p id=\"p\">at #row=3</p>"), "{}", opened.dom);
    assert_eq!(opened.errors, [""; 0]);
    let opened = browser::run(&path, "", "Promise.resolve([p.textContent, 1 + 1])").unwrap();
    assert_eq!(opened.value, serde_json::json!(["at ", 2]));
    let png = dir.path().join("page.png");
    browser::screenshot(&path, &png).unwrap();
    let picture = std::fs::read(png).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
    let size = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (1200, 800));
}

#[test]
fn the_browser_tells_every_kind_of_error() {
    for (script, expected) in [
        ("nobody.knows()", "exception: ReferenceError: nobody is not defined"),
        ("setTimeout(() => { throw new Error('late') })", "exception: Error: late"),
        ("Promise.reject(new Error('promised'))", "exception: Error: promised"),
        ("console.error('said')", "console: [{\"type\":\"string\",\"value\":\"said\"}]"),
        ("document.write('<img src=beside.png>')", "/beside.png"),
    ] {
        let (_dir, path) = page(&format!("<!doctype html><script>{script}</script>"));
        let Some(opened) = browser::open(&path, "") else { return };
        assert!(opened.errors.iter().any(|error| error.contains(expected)), "{script}: {:?}", opened.errors);
    }
}
