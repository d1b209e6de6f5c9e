//! The page of `compare --html`: in a headless browser it shows what it promises, and says nothing on its console.
#![cfg(feature = "cli")]

mod browser;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

const HOSTILE: &str = "<b>&\"'<script>throw 1;";

/// Compares chains on a model's rows; gives the page, and what --json prints.
fn page(dir: &Path, chains: &[String], rows: &str) -> (PathBuf, Value) {
    let path = dir.join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampler-chain"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("compare").args(chains);
    command.args(["--logits", "testing/data/smollm2.safetensors", "--rows", rows, "--seeds", "2", "--json", "--html"]);
    let output = command.arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (path, serde_json::from_slice(&output.stdout).unwrap())
}

fn some_chains() -> Vec<String> {
    let named = format!("{HOSTILE}={{\"temperature\": 1.4}}");
    let files = ["llama-server", "min-p"].map(|name| format!("examples/chains/{name}.toml"));
    files.into_iter().chain([named, "greedy={\"temperature\": 0}".to_string()]).collect()
}

/// What the page looks like to a script, after the script has pointed at a column and walked with the keys.
const LOOK: &str = r#"(() => {
  const texts = (selector, root = document) => [...root.querySelectorAll(selector)].map(it => it.textContent);
  const sections = [...document.querySelectorAll("section")];
  const tip = document.getElementById("tip");
  const plots = sections.map(section => ({
    title: section.querySelector("h2").textContent,
    strips: texts("text:not(.small)", section),
    notes: texts("text.small", section),
    columns: section.querySelectorAll(".hit").length,
    drawn: [...section.querySelectorAll(".bar, .line, .base")].filter(path => path.getBBox().width > 0).length,
  }));
  const says = () => tip.hidden ? null : tip.textContent;
  const lit = () => document.querySelectorAll(".lit").length;
  const column = sections[0].querySelectorAll(".hit")[3];
  column.dispatchEvent(new PointerEvent("pointerenter"));
  const pointed = [says(), lit(), column.classList.contains("lit")];
  column.dispatchEvent(new PointerEvent("pointerleave"));
  const left = [says(), lit()];
  const svg = sections[1].querySelector("svg");
  const press = key => svg.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  ["ArrowRight", "ArrowRight", "ArrowLeft"].forEach(press);
  const walked = [says(), lit()];
  press("Escape");
  return {
    heading: document.querySelector("h1").textContent,
    table: [...document.querySelectorAll("tbody tr")].map(row => texts("th, td", row)),
    chains: texts("details h2"),
    steps: texts("details pre"),
    bold: document.querySelectorAll("b").length,
    wide: document.documentElement.scrollWidth > innerWidth,
    plots, pointed, left, walked, escaped: says(),
  };
})()"#;

#[test]
fn the_page_shows_the_comparison() {
    let dir = tempfile::tempdir().unwrap();
    let (path, printed) = page(dir.path(), &some_chains(), "0..8");
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(html.len() < 200_000, "{} bytes", html.len());
    assert!(!html.contains("http") && !html.contains("src="), "it is self-contained");
    // Without a script a browser shows the titles.
    assert!(html.contains("<title>row 3\n"), "{html}");

    let Some(opened) = browser::run(&path, "", LOOK) else { return };
    assert_eq!(opened.errors, Vec::<String>::new());
    let seen = opened.value;
    assert_eq!(seen["heading"], "Chains against llama-server");
    let names = ["llama-server", "min-p", HOSTILE, "greedy"];
    assert_eq!((&seen["chains"], &seen["bold"], &seen["wide"]), (&json!(names), &json!(0), &json!(false)));
    assert!(seen["steps"][1].as_str().unwrap().starts_with("min_p  p = 0.1\n"), "{}", seen["steps"][1]);

    // The table is the one that is printed.
    let table = printed["table"].as_array().unwrap();
    assert_eq!(seen["table"].as_array().unwrap().len(), 4);
    for (shown, line) in seen["table"].as_array().unwrap().iter().zip(table) {
        let number = |field: &str| format!("{:.4}", line[field].as_f64().unwrap());
        assert_eq!(shown[0], line["name"]);
        let error = line["agreement_error"].as_f64().unwrap();
        let error = if error > 0.0 { format!(" ±{error:.3}") } else { String::new() };
        assert_eq!((&shown[1], &shown[2]), (&json!(number("agreement") + &error), &json!(number("tv"))));
        assert_eq!(shown.as_array().unwrap().len(), 14);
    }
    assert_eq!((&seen["table"][3][3], &seen["table"][3][4]), (&json!("∞"), &json!("100%")));

    // Six plots; the baseline is compared with nobody, and has a strip of its own where each chain stands for itself.
    let titles: Vec<&str> = seen["plots"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
    let wanted = [
        "Agreement along the rows",
        "Total variation from the baseline",
        "KL divergence: baseline from chain",
        "KL divergence: chain from baseline",
        "Entropy along the rows",
        "Candidates kept along the rows",
    ];
    assert_eq!(titles, wanted);
    let cut = HOSTILE;
    let names = ["llama-server", "min-p", cut, "greedy"];
    for (i, (plot, columns)) in seen["plots"].as_array().unwrap().iter().zip([8, 40, 33, 33, 8, 8]).enumerate() {
        let names = if i < 4 { &names[1..] } else { &names[..] };
        assert_eq!((&plot["strips"], &plot["columns"]), (&json!(names), &json!(columns)), "{}", plot["title"]);
        // Where each stands for itself, the baseline is behind the others, too.
        assert_eq!(plot["drawn"], if i < 4 { 3 } else { 7 }, "{}", plot["title"]);
    }
    let share = |i: usize| format!("{:.0}%", table[i]["agreement"].as_f64().unwrap() * 100.0);
    assert_eq!(seen["plots"][0]["notes"].as_array().unwrap()[..3], [share(1), share(2), share(3)]);

    // Pointing at a row marks it in the three plots along the rows; the keys walk along a plot.
    let says = seen["pointed"][0].as_str().unwrap();
    assert!(says.starts_with("row 3\n") && says.contains(HOSTILE) && says.contains("  min-p\n"), "{says}");
    assert_eq!((&seen["pointed"][1], &seen["pointed"][2], &seen["left"]), (&json!(3), &json!(true), &json!([null, 0])));
    let says = seen["walked"][0].as_str().unwrap();
    assert!(says.starts_with("0.000 to 0.025\n"), "{says}");
    assert_eq!((&seen["walked"][1], &seen["escaped"]), (&json!(1), &Value::Null));
}

/// On a narrow screen a plot keeps its width and scrolls.
#[test]
fn plots_scroll_on_a_narrow_screen() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = page(dir.path(), &some_chains()[..2], "0..2");
    let script = r#"(() => {
      document.body.style.width = "360px";
      const section = document.querySelector("section");
      const svg = section.querySelector("svg");
      return [section.clientWidth < 360, svg.getBoundingClientRect().width, section.scrollWidth > section.clientWidth];
    })()"#;
    let Some(opened) = browser::run(&path, "", script) else { return };
    assert_eq!((opened.errors, opened.value), (Vec::new(), json!([true, 640, true])));
}

/// Forty chains are a page of less than a megabyte, too.
#[test]
fn many_chains_are_a_small_page() {
    let dir = tempfile::tempdir().unwrap();
    let chain = |i: usize| format!("a chain with quite a long name {i}={{\"top_k\": {}}}", i + 1);
    let (path, _) = page(dir.path(), &(0..40).map(chain).collect::<Vec<_>>(), "0..72");
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 1_000_000, "{size} bytes");
    let Some(opened) = browser::run(&path, "", "document.querySelectorAll('section svg').length") else { return };
    assert_eq!((opened.errors, opened.value), (Vec::new(), json!(6)));
}
