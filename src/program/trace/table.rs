//! A trace as a table of steps, with bars of the candidates that each step left.

use std::io::{self, Write};

use crate::Trace;
use crate::trace::{Candidate, Mass, Piece, Point, Set, Step};
use serde_json::{Map, Value};

use super::fit::{WIDTH, bar, cut, pad, percent, time};

/// Columns of a bar.
const BAR: usize = 28;

/// Prints the drawn token, the table, and the bars of the first `shown` candidates: of the row, and after each step that changed
/// something.
pub fn print(row: usize, trace: &Trace, shown: usize, out: &mut impl Write) -> io::Result<()> {
    head(row, trace, out)?;
    writeln!(out, "\n   #  step                left sorted entropy     top  removed shifted     time")?;
    let read = trace.time.map(|time| time.read_ns);
    line("", "logits", &trace.logits, [None, None], read, out)?;
    let mut chains: &[usize] = &[];
    for step in &trace.steps {
        let (_, inside) = step.place.split_last().unwrap_or((&0, &[]));
        chain_lines(chains, inside, out)?;
        chains = inside;
        let name = format!("{:indent$}{}", "", step.step, indent = inside.len() * 2);
        if step.off {
            writeln!(out, "{} {:>7}", label(&step.place_text(), &name), "off")?;
            continue;
        }
        let share = |of: fn(&Mass) -> f64| step.mass.as_ref().map(of).filter(|&share| share > 0.0);
        let shares = [share(|mass| mass.removed), share(|mass| mass.gained)];
        line(&step.place_text(), &name, &step.after, shares, step.ns, out)?;
    }
    if let Some(whole) = trace.time {
        writeln!(out, "{:>80}", format!("the whole draw {:>9}", time(whole.draw_ns)))?;
    }
    if shown == 0 { Ok(()) } else { bars(trace, out) }
}

/// The drawn token, and what was before the draw.
pub fn head(row: usize, trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let piece = trace.piece.as_ref().map_or(String::new(), |piece| format!(" {}", cut(&piece.to_string(), 24)));
    let before = format!("seed {}, {} accepted before", trace.seed, trace.n_accepted);
    let drawn = format!("row {row}: drew {}{piece}, {}", trace.token, percent(trace.prob));
    writeln!(out, "{}{before}", pad(&drawn, WIDTH.saturating_sub(before.len())))
}

/// `shares`: what was removed and what was shifted, where anything was.
fn line(
    place: &str,
    name: &str,
    set: &Set,
    shares: [Option<f64>; 2],
    ns: Option<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    let sorted = if set.sorted { "yes" } else { "no" };
    let entropy = set.entropy.map_or("-".into(), |bits| format!("{bits:.3}"));
    let top = percent(set.top.first().and_then(|cand| cand.prob));
    let [removed, shifted] = shares.map(percent);
    let (label, ns) = (label(place, name), ns.map_or("-".into(), time));
    writeln!(out, "{label} {:>7} {sorted:>6} {entropy:>7} {top:>7} {removed:>8} {shifted:>7} {ns:>8}", set.len)
}

/// Where a step stands and what it is.
pub fn label(place: &str, name: &str) -> String {
    pad(&format!("{place:>4}  {name}"), 22)
}

/// The chains that a step is the first of.
fn chain_lines(before: &[usize], now: &[usize], out: &mut impl Write) -> io::Result<()> {
    for n in 1..=now.len() {
        if before.get(..n) != now.get(..n) {
            let place: Vec<String> = now[..n].iter().map(usize::to_string).collect();
            let name = format!("{:indent$}chain", "", indent = (n - 1) * 2);
            writeln!(out, "{}", label(&place.join("."), &name).trim_end())?;
        }
    }
    Ok(())
}

/// The first candidates before the chain, and after each step that changed something.
fn bars(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let sets = std::iter::once(&trace.logits).chain(trace.steps.iter().map(|step| &step.after));
    let largest = sets.filter_map(|set| set.top.first()?.prob).fold(0.0f64, f64::max);
    let path = trace.story(trace.token).map_or(&[][..], |story| &story.points);
    writeln!(out, "\nlogits")?;
    candidates(&trace.logits.top, trace, path.first(), largest, out)?;
    for (n, step) in trace.steps.iter().enumerate().filter(|(_, step)| !step.is_idle()) {
        let title = format!("{} {}{}", step.place_text(), step.step, params(&step.params));
        writeln!(out, "\n{}", cut(&title, WIDTH))?;
        writeln!(out, "  {}", cut(&what_changed(step), WIDTH - 2))?;
        candidates(&step.after.top, trace, path.get(n + 1), largest, out)?;
    }
    Ok(())
}

/// The first candidates, and the drawn token where it is not among them.
fn candidates(
    top: &[Candidate],
    trace: &Trace,
    drawn: Option<&Option<Point>>,
    largest: f64,
    out: &mut impl Write,
) -> io::Result<()> {
    for cand in top {
        let more = match (cand.prob, cand.was) {
            (Some(prob), Some(was)) => format!("{:+.2}", (prob - was) * 100.0),
            _ => String::new(),
        };
        let mark = if cand.id == trace.token { '>' } else { ' ' };
        candidate(mark, cand.id, cand.piece.as_ref(), cand.prob, &more, largest, out)?;
    }
    let is_told = top.iter().any(|cand| cand.id == trace.token);
    if let Some(Some(point)) = drawn.filter(|_| !is_told) {
        let rank = format!("#{}", point.rank);
        candidate('>', trace.token, trace.piece.as_ref(), point.prob, &rank, largest, out)?;
    }
    Ok(())
}

fn candidate(
    mark: char,
    id: u32,
    piece: Option<&Piece>,
    prob: Option<f64>,
    more: &str,
    largest: f64,
    out: &mut impl Write,
) -> io::Result<()> {
    let share = prob.filter(|_| largest > 0.0).map_or(0.0, |prob| prob / largest);
    let line = format!("{mark} {:>7} {more:>7}  {} {id:>7}  ", percent(prob), bar(share, BAR));
    let room = WIDTH.saturating_sub(line.chars().count());
    let piece = piece.map_or(String::new(), ToString::to_string);
    writeln!(out, "{}", format!("{line}{}", cut(&piece, room)).trim_end())
}

/// What a step changed, in words.
fn what_changed(step: &Step) -> String {
    let mut parts = Vec::new();
    if step.removed > 0 {
        parts.push(format!("{} removed", step.removed));
    }
    for (n, what) in [(step.added, "added"), (step.changed, "changed"), (step.masked, "masked"), (step.moved, "moved")]
    {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    let mut text = parts.join(", ");
    if !step.out.is_empty() {
        let gone: Vec<String> = step.out.iter().map(|cand| format!("{} {}", name(cand), percent(cand.prob))).collect();
        text += &format!("; gone: {}", gone.join("  "));
    }
    text
}

fn name(cand: &Candidate) -> String {
    cand.piece.as_ref().map_or_else(|| cand.id.to_string(), ToString::to_string)
}

/// `  k = 40`.
pub fn params(params: &Map<String, Value>) -> String {
    let shown: Vec<String> = params.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if shown.is_empty() { String::new() } else { format!("  {}", shown.join(", ")) }
}
