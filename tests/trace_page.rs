//! The page of `trace --html` in a real browser.
#![cfg(feature = "cli")]

mod browser;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Runs the program in the repository.
fn program(args: &[&str]) -> std::process::Output {
    let root = env!("CARGO_MANIFEST_DIR");
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).args(args).output().unwrap()
}

/// Writes a page of a trace, under 1 MB. What is told beside it.
fn trace_page(args: &[&str], page: &Path) -> String {
    let output = program(&[&["trace", "--html", page.to_str().unwrap()], args].concat());
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{notes}");
    let size = std::fs::metadata(page).unwrap().len();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(size < 1_000_000 && told.ends_with(&format!(": {} kB\n", size.div_ceil(1000))), "{size} bytes, {told}");
    notes
}

const SMOLLM2: [&str; 6] = [
    "--logits",
    "testing/data/smollm2.safetensors",
    "--vocab",
    "testing/data/smollm2-vocab.bin.gz",
    "--prompt",
    "5965,20790,5454,9356,2893,260,1573,5692,20526,28,284,897,4018,1041",
];

/// What a reader sees of a row.
const SEEN: &str = "({
    head: document.querySelector('.head').innerText,
    where: document.getElementById('where').innerText,
    slider: document.getElementById('slider').value,
    current: [...document.querySelectorAll('#strip [aria-current]')].map(token => token.innerText),
    steps: [...document.querySelectorAll('tbody tr')].map(line => line.innerText.split(/[\\t\\n]+/)),
    cards: [...document.querySelectorAll('.card h2')].map(title => title.innerText),
    hash: location.hash,
})";

/// The page shows what the program prints: every row and its token, every step with its numbers.
#[test]
fn the_page_shows_every_row_and_step() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.html");
    let chain = ["--chain", "examples/chains/llama-server.toml", "--rows", "0..17"];
    let args = [&SMOLLM2[..], &chain].concat();
    assert_eq!(trace_page(&args, &path), "");
    let Some(opened) = browser::run(&path, "", SEEN) else { return };
    assert_eq!(opened.errors, [""; 0]);

    let printed = program(&[&["trace", "--json"], &args[..]].concat()).stdout;
    let traces: Vec<Value> =
        String::from_utf8(printed).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tokens: Vec<String> =
        traces.iter().map(|trace| format!("row {}, token {}", trace["row"], trace["token"])).collect();
    let shown =
        browser::run(&path, "", "[...document.querySelectorAll('#strip button')].map(token => token.title)").unwrap();
    assert_eq!(shown.value, json!(tokens));

    let seen = &opened.value;
    assert_eq!((&seen["where"], &seen["slider"]), (&json!("row 0 (1 of 17)"), &json!("0")));
    assert_eq!(seen["cards"], json!(["The row", "4 top_k", "6 top_p", "7 min_p", "9 temperature", "10 dist"]));
    let lines = seen["steps"].as_array().unwrap();
    let steps = traces[0]["steps"].as_array().unwrap();
    assert_eq!(lines.len(), steps.len() + 2, "a line for the row, and one for the whole draw");
    for (line, step) in lines[1..].iter().zip(steps) {
        let line: Vec<&str> = line.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap()).collect();
        assert_eq!((line[0], line[1]), (step["place"][0].to_string().as_str(), step["step"].as_str().unwrap()));
        if step["off"] == true {
            assert_eq!(line[2], "off");
            continue;
        }
        let set = &step["after"];
        let len = set["len"].as_u64().unwrap();
        assert_eq!(line[2].replace('\u{202f}', ""), len.to_string());
        assert_eq!(line[3], if set["sorted"] == true { "yes" } else { "no" });
        assert_eq!(line[4], format!("{:.3}", set["entropy"].as_f64().unwrap()));
        let percent = |share: &Value| format!("{:.2}\u{202f}%", share.as_f64().unwrap() * 100.0);
        assert_eq!(line[5], percent(&set["top"][0]["prob"]));
        let removed = &step["mass"]["removed"];
        assert_eq!(line[6], if *removed == 0.0 { "–".into() } else { percent(removed) });
    }
}

/// The slider, the arrow keys, the buttons, a token of the text and the address all go to a row.
#[test]
fn the_page_goes_from_row_to_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.html");
    trace_page(&[&SMOLLM2[..], &["--chain", "examples/chains/min-p.toml", "--rows", "2..8"]].concat(), &path);
    let script = |act: &str| format!("(() => {{ {act}; return {SEEN}; }})()");
    let press = |key: &str| {
        script(&format!("document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"))
    };
    for (fragment, act, row, index) in [
        ("", script(""), 2, 0),
        ("row=5", script(""), 5, 3),
        ("row=99", script(""), 2, 0),
        ("row=%3Cimg%3E", script(""), 2, 0),
        ("row=5", press("ArrowRight"), 6, 4),
        ("row=5", press("ArrowLeft"), 4, 2),
        ("row=7", press("ArrowRight"), 7, 5),
        ("", press("ArrowLeft"), 2, 0),
        ("", script("slider.value = 3; slider.dispatchEvent(new Event('input'))"), 5, 3),
        ("", script("on.click()"), 3, 1),
        ("row=4", script("back.click()"), 3, 1),
        ("row=5", script("document.querySelector('a[href=\"#step-2\"]').click()"), 5, 3),
        ("", script("document.querySelectorAll('#strip button')[5].click()"), 7, 5),
    ] {
        let Some(opened) = browser::run(&path, fragment, &act) else { return };
        assert_eq!(opened.errors, [""; 0], "{act}");
        let seen = &opened.value;
        assert_eq!(seen["where"], format!("row {row} ({} of 6)", index + 1), "#{fragment}: {act}");
        assert_eq!(seen["slider"], index.to_string());
        assert!(seen["head"].as_str().unwrap().contains(&format!("row {row} drew token ")), "{}", seen["head"]);
        assert_eq!(seen["current"].as_array().unwrap().len(), 1);
        let is_kept = seen["hash"] == format!("#row={row}")
            || seen["hash"] == if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        assert!(is_kept, "{}", seen["hash"]);
    }
}

/// What a step removed is crossed out and marked, the drawn token marked: both without colour; a candidate is marked
/// everywhere by a key.
#[test]
fn the_page_is_read_without_colour() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.html");
    let request = r#"{"seed": 7, "xtc_probability": 1, "samplers": ["top_k", "xtc", "temperature"]}"#;
    trace_page(&[&SMOLLM2[..], &["--request", request, "--rows", "0..2"]].concat(), &path);
    let script = "(() => {
        const xtc = [...document.querySelectorAll('.card')].find(card => card.innerText.includes('xtc'));
        const [gone, drawn] = ['gone', 'drawn'].map(kind => xtc.querySelector('li.' + kind));
        gone.focus();
        gone.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
        return {
            gone: gone.innerText.split(/\\s+/), line: getComputedStyle(gone.querySelector('.piece')).textDecorationLine,
            drawn: drawn.innerText.split(/\\s+/), titles: [gone.title, drawn.title],
            marked: document.querySelectorAll('li.marked').length, alike: document.querySelectorAll('li[data-id=\"' + gone.dataset.id + '\"]').length,
        };
    })()";
    let Some(opened) = browser::run(&path, "", script) else { return };
    assert_eq!(opened.errors, [""; 0]);
    let seen = &opened.value;
    assert_eq!(
        (&seen["gone"][0], &seen["gone"][1], &seen["line"]),
        (&json!("✕"), &json!("·would"), &json!("line-through"))
    );
    assert_eq!((&seen["titles"][0], &seen["drawn"][0]), (&json!("removed: ␠would, token 736"), &json!("◆")));
    assert!(seen["titles"][1].as_str().unwrap().starts_with("drawn: "));
    assert_eq!(
        (&seen["marked"], &seen["alike"]),
        (&json!(3), &json!(3)),
        "in the row, after top_k, and where it was removed"
    );

    let (light, dark) = (dir.path().join("light.png"), dir.path().join("dark.png"));
    browser::screenshot(&path, &light).unwrap();
    browser::screenshot_as(&path, &dark, browser::Look { dark: true, ..Default::default() }).unwrap();
    assert_ne!(std::fs::read(light).unwrap(), std::fs::read(dark).unwrap());
}

/// A vocabulary of pieces that would like to be HTML, and rows over it.
fn hostile(dir: &Path, n_rows: usize) -> [String; 4] {
    let pieces: [&[u8]; 12] = [
        b"</script><script>throw new Error('in')</script>",
        b"<img src=x onerror=\"throw 1\">",
        b"<!--<script>",
        b"&lt;&amp;",
        b"\"'`${1}\\",
        "\u{2028}\u{202e}日本語".as_bytes(),
        b"\xff\xe2\x96",
        b"",
        b"__proto__",
        b" \n\t\x00",
        b"]]>",
        b"\"DATA\"",
    ];
    let hex: Vec<String> =
        pieces.iter().map(|piece| piece.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let vocab = dir.join("vocab.json");
    std::fs::write(&vocab, json!({"pieces_hex": hex, "eog": [], "eot": null, "eos": null}).to_string()).unwrap();
    let logits: Vec<u8> = (0..n_rows * 12).flat_map(|i| ((i % 12) as f32 / 8.0).to_le_bytes()).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![n_rows, 12], &logits).unwrap();
    let rows = dir.join("rows.safetensors");
    std::fs::write(&rows, safetensors::serialize([("logits", view)], None).unwrap()).unwrap();
    ["--logits".into(), rows.to_str().unwrap().into(), "--vocab".into(), vocab.to_str().unwrap().into()]
}

/// No piece is anything but text.
#[test]
fn the_page_is_safe_from_its_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.html");
    let files = hostile(dir.path(), 12);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let chain = ["--seed", "3", "--samplers", "top_k", "--top-k", "11", "--prompt", "0,1,2,3,4,5,6,7,8,9,10,11"];
    assert_eq!(trace_page(&[&files[..], &chain].concat(), &path), "");
    let script = "({
        pieces: [...document.querySelectorAll('.card')[0].querySelectorAll('.piece')].map(piece => piece.textContent),
        intruders: document.querySelectorAll('img, script').length, prompt: document.querySelectorAll('#strip > span').length,
    })";
    let Some(opened) = browser::run(&path, "", script) else { return };
    assert_eq!(opened.errors, [""; 0]);
    let expected = [
        "\"DATA\"",
        "]]>",
        "·↵→\\x00",
        "__proto__",
        "(empty)",
        "\\xFF\\xE2\\x96",
        "\\u{2028}\\u{202e}日本語",
        "\"'`${1}\\",
        "&lt;&amp;",
        "<!--<script>",
        "<img·src=x·onerror=\"throw·1\">",
        "</script><script>throw·new·Error('in')</script>",
    ];
    assert_eq!(opened.value["pieces"], json!(expected));
    assert_eq!((&opened.value["intruders"], &opened.value["prompt"]), (&json!(2), &json!(12)));
}

/// What does not fit is left out, and the page says so, as the program does.
#[test]
fn the_page_says_what_it_leaves_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.html");
    let chain = ["--chain", "examples/chains/min-p.toml", "--rows", "0..1", "--top", "1000"];
    let note = trace_page(&[&SMOLLM2[..], &chain].concat(), &path);
    assert_eq!(note, "note: of each step the first 200 candidates are shown, so that the page stays under 1 MB\n");
    let files = hostile(dir.path(), 4000);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let notes = trace_page(&[&files[..], &["--seed", "3"]].concat(), &path);
    let notes: Vec<&str> = notes.lines().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(notes[0], "note: of each step the first 1 candidates are shown, so that the page stays under 1 MB");
    let rest = notes[1].strip_prefix("note: the rows ").unwrap();
    let from: usize = rest.split("..").next().unwrap().parse().unwrap();
    assert_eq!(rest, format!("{from}..4000 are left out, so that the page stays under 1 MB"));
    assert!(from > 200, "{from}");
    let script = "[document.getElementById('notes').innerText.split('\\n').filter(line => line), document.querySelectorAll('#strip button').length]";
    let Some(opened) = browser::run(&path, &format!("row={}", from - 1), script) else { return };
    assert_eq!(opened.errors, [""; 0]);
    let on_page: Vec<String> =
        notes.iter().map(|note| format!("Left out: {}.", note.trim_start_matches("note: "))).collect();
    assert_eq!(opened.value, json!([on_page, from]));
}
