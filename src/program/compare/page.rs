//! The page: one file without a network, its table and plots there without a script, too.

use std::fmt::Write;

use crate::compare::{ChainSetup, Comparison, Divergence, Setup, Summary};
use serde_json::Value;

use super::plots::escape;
use super::table::{count, fraction, percent, told, what};
use super::{figures, plots};

/// Longer than this a step's parameters are cut: a list of thousands of biases is no reading.
const STEP: usize = 600;

/// The whole page.
pub fn html(comparison: &Comparison) -> String {
    let setup = comparison.setup();
    let baseline = setup.chains.first().map_or("", |chain| chain.name.as_str());
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}: compared</title>\n<style>\n{1}</style>\n</head>\n<body>\n<h1>Chains against {0}</h1>\n",
        escape(baseline),
        include_str!("page.css")
    );
    let (what, told) = (escape(&what(setup)), told(&setup.follow));
    let _ = writeln!(html, "<p>{what}; {told}. sampler-chain {}.</p>", escape(&setup.program));
    table(comparison, &mut html);
    for figure in figures::of(comparison) {
        let plots::Figure { title, text, .. } = &figure;
        let _ = write!(
            html,
            "<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n",
            escape(title),
            escape(text),
            figure.svg()
        );
    }
    chains(setup, &mut html);
    let _ = write!(
        html,
        "<div id=\"tip\" hidden></div>\n<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.js")
    );
    html
}

fn table(comparison: &Comparison, html: &mut String) {
    let timed = comparison.setup().timed;
    html.push_str(
        "<div class=\"scroll\">\n<table>\n<thead>\n<tr><th class=\"of\"></th><th class=\"of\" colspan=\"6\">against the baseline</th>\
         <th class=\"of\" colspan=\"7\">of each chain alone</th></tr>\n<tr><th>chain</th>",
    );
    let heads = [
        ("same", "share of draws that gave the baseline's token, ± its standard error over the seeds"),
        ("TV", "mean total variation of the final distributions, 0 to 1"),
        ("KL", "D(baseline ‖ chain) in nats, mean of the rows where it is finite"),
        ("∞", "share of rows where D(baseline ‖ chain) is infinite"),
        ("rev. KL", "D(chain ‖ baseline) in nats, mean of the rows where it is finite"),
        ("∞", "share of rows where D(chain ‖ baseline) is infinite"),
        ("kept", "candidates that could be drawn, median"),
        ("mean", "candidates that could be drawn, mean"),
        ("bits", "entropy of the final distribution, mean"),
        ("d-1", "distinct-1 of what was drawn along the rows"),
        ("d-2", "distinct-2 of what was drawn along the rows"),
        ("d-3", "distinct-3 of what was drawn along the rows"),
        ("µs", "drawing and accepting a token, median"),
    ];
    for (head, title) in heads.iter().filter(|(head, _)| timed || *head != "µs") {
        let _ = write!(html, "<th title=\"{}\">{}</th>", escape(title), escape(head));
    }
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    for line in comparison.table() {
        let Summary { name, agreement, agreement_error, tv, kl, reverse_kl, kept_median, .. } = line;
        let Summary { kept_mean, entropy, distinct, nanos, .. } = line;
        let divergence = |Divergence { mean, infinite }| [mean.map_or("∞".to_string(), fraction), percent(infinite)];
        let error = agreement_error.filter(|error| *error > 0.0).map_or(String::new(), |error| format!(" ±{error:.3}"));
        let mut cells = vec![fraction(agreement) + &error, fraction(tv)];
        cells.extend([divergence(kl), divergence(reverse_kl)].concat());
        cells.extend([count(kept_median), count(kept_mean), format!("{entropy:.2}")]);
        cells.extend(distinct.map(|share| share.map_or("–".to_string(), |share| format!("{share:.2}"))));
        cells.extend(nanos.map(|nanos| count(nanos / 1000.0)));
        let name = escape(&name);
        let _ = write!(html, "<tr><th title=\"{name}\">{name}</th>");
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", escape(&cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
    html.push_str(
        "<p>KL is in nats, the mean of the rows where it is finite; ∞ is the share of the others. The heads of the columns say \
         more when they are pointed at; so do the plots, whose columns the arrow keys walk along.</p>\n",
    );
}

/// What the chains are, so that the page can be read on its own.
fn chains(setup: &Setup, html: &mut String) {
    html.push_str("<details>\n<summary>The chains</summary>\n");
    for ChainSetup { name, steps, .. } in &setup.chains {
        let _ = writeln!(html, "<h2>{}</h2>", escape(name));
        html.push_str("<pre>");
        for step in steps.as_array().into_iter().flatten() {
            let _ = writeln!(html, "{}", escape(&describe(step)));
        }
        html.push_str("</pre>\n");
    }
    let (rows, sha) = (&setup.rows, escape(&setup.logits_sha256));
    let _ = write!(html, "<p>Rows {}..{}: SHA-256 {sha}.</p>\n</details>\n", rows.start, rows.end);
}

/// `top_k  k = 40`
fn describe(step: &Value) -> String {
    let fields = step.as_object().into_iter().flatten().filter(|(key, _)| *key != "type");
    let fields: Vec<String> = fields.map(|(key, value)| format!("{key} = {value}")).collect();
    let name = step["type"].as_str().unwrap_or_default();
    let text = format!("{name}  {}", fields.join(", ")).trim_end().to_string();
    match text.char_indices().nth(STEP) {
        Some((end, _)) => text.get(..end).unwrap_or(&text).to_string() + " …",
        None => text,
    }
}
