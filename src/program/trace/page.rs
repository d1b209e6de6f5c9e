//! Traces as one page of HTML: the template `page.html` with the rows as JSON inside.

use std::collections::BTreeMap;

use crate::Trace;
use crate::trace::{Candidate, Mass, Piece, Set, Step};
use serde::Serialize;

use super::fit::cut;
use super::table::params;
use crate::program::input::Input;

/// How many candidates a step has where nobody says another number.
pub const TOP: usize = 12;
/// How many of the removed ones it has at most.
const OUT: usize = 5;
/// No page has more bytes.
const LIMIT: usize = 960_000;
/// How many candidates a step has at most.
const MOST: usize = 200;
/// Fewer are tried where a page would be too large.
const FEWER: [usize; 8] = [100, 50, 25, 12, 8, 5, 3, 1];
/// So many tokens of the prompt are shown.
const PROMPT: usize = 80;
/// Parameters can be long (a list of biases); so many characters are shown.
const PARAMS: usize = 200;

const TEMPLATE: &str = include_str!("page.html");
/// What the rows stand in place of.
const PLACE: &str = "\"DATA\"";

/// A page to be.
pub struct Page {
    prompt: Vec<(u32, Option<Piece>)>,
    /// Behind the last row that was asked for.
    end: usize,
    rows: Vec<Row>,
    /// How many candidates a step had at most.
    wanted: usize,
    /// How many bytes the rows have with as few candidates as can be.
    least: usize,
}

/// What the template's script reads.
#[derive(Serialize)]
struct Data<'p> {
    version: &'static str,
    /// Every piece that is spoken of, as it is shown.
    pieces: BTreeMap<u32, String>,
    prompt: Vec<u32>,
    notes: &'p [String],
    rows: Vec<&'p Row>,
}

#[derive(Serialize, Clone)]
struct Row {
    row: usize,
    seed: u32,
    before: usize,
    token: u32,
    prob: Option<f64>,
    read: Option<u64>,
    draw: Option<u64>,
    set: Shown,
    steps: Vec<Stage>,
    /// Rank and probability of the drawn token, before the first step and after each.
    path: Vec<Option<(usize, Option<f64>)>>,
    #[serde(skip)]
    pieces: BTreeMap<u32, String>,
}

#[derive(Serialize, Clone)]
struct Stage {
    place: String,
    name: String,
    params: String,
    off: bool,
    idle: bool,
    before: usize,
    set: Shown,
    /// Candidates that were removed, added, moved, changed, masked.
    counts: [usize; 5],
    /// What was removed, kept, lost, gained.
    mass: Option<[f64; 4]>,
    out: Vec<Cand>,
    ns: Option<u64>,
}

#[derive(Serialize, Clone)]
struct Shown {
    len: usize,
    sorted: bool,
    selects: bool,
    entropy: Option<f64>,
    top: Vec<Cand>,
}

/// Token, probability, probability before.
type Cand = (u32, Option<f64>, Option<f64>);

impl Page {
    pub fn new(input: &Input) -> Self {
        let skip = input.prompt.len().saturating_sub(PROMPT);
        let piece = |&id: &u32| (id, input.vocab.as_ref().map(|vocab| Piece::new(vocab.piece(id))));
        let prompt = input.prompt[skip..].iter().map(piece).collect();
        Self { prompt, end: input.rows.end, rows: Vec::new(), wanted: 0, least: 0 }
    }

    /// Adds a row. Whether another one may fit.
    pub fn add(&mut self, i: usize, trace: &Trace) -> bool {
        let row = Row::new(i, trace);
        self.least += serde_json::to_string(&row.with_top(1)).map_or(0, |text| text.len());
        self.wanted = row.tops().map(Vec::len).fold(self.wanted, usize::max);
        self.rows.push(row.with_top(MOST));
        self.least < LIMIT
    }

    /// The page, and what was left out of it.
    pub fn finish(self) -> Result<(String, Vec<String>), serde_json::Error> {
        let most = self.wanted.min(MOST);
        let mut shown = None;
        for top in std::iter::once(most).chain(FEWER.into_iter().filter(|&top| top < most)) {
            shown = (top < self.wanted).then_some(top);
            let rows: Vec<Row> = self.rows.iter().map(|row| row.with_top(top)).collect();
            let notes = self.notes(shown, &rows);
            let html = self.html(&rows, &notes)?;
            if html.len() <= LIMIT {
                return Ok((html, notes));
            }
        }
        let mut rows: Vec<Row> = self.rows.iter().map(|row| row.with_top(1)).collect();
        loop {
            let notes = self.notes(shown, &rows);
            let html = self.html(&rows, &notes)?;
            if html.len() <= LIMIT || rows.len() <= 1 {
                return Ok((html, notes));
            }
            let fit = rows.len() * LIMIT / html.len();
            rows.truncate(fit.clamp(1, rows.len() - 1));
        }
    }

    /// What is left out where `top` candidates a step and these rows are shown.
    fn notes(&self, top: Option<usize>, rows: &[Row]) -> Vec<String> {
        let behind = rows.last().map_or(self.end, |row| row.row + 1);
        let top = top.map(|top| format!("of each step the first {top} candidates are shown"));
        let rows = (behind < self.end).then(|| format!("the rows {behind}..{} are left out", self.end));
        top.into_iter().chain(rows).map(|note| format!("{note}, so that the page stays under 1 MB")).collect()
    }

    fn html(&self, rows: &[Row], notes: &[String]) -> Result<String, serde_json::Error> {
        let of_prompt = self.prompt.iter().filter_map(|(id, piece)| Some((*id, piece.as_ref()?.to_string())));
        let mut pieces: BTreeMap<u32, String> = of_prompt.collect();
        for row in rows {
            let ids = row.tops().flatten().map(|cand| cand.0).chain([row.token]);
            pieces.extend(ids.filter_map(|id| Some((id, row.pieces.get(&id)?.clone()))));
        }
        let prompt = self.prompt.iter().map(|(id, _)| *id).collect();
        let version = env!("CARGO_PKG_VERSION");
        let data = serde_json::to_string(&Data { version, pieces, prompt, notes, rows: rows.iter().collect() })?;
        // Inside a script element nothing but its end, or a comment's beginning, means anything to HTML.
        Ok(TEMPLATE.replacen(PLACE, &data.replace('<', "\\u003c"), 1))
    }
}

impl Row {
    fn new(i: usize, trace: &Trace) -> Self {
        let mut pieces = BTreeMap::new();
        let of_steps = trace.steps.iter().flat_map(|step| step.after.top.iter().chain(&step.out));
        for cand in trace.logits.top.iter().chain(of_steps) {
            cand.piece.iter().for_each(|piece| drop(pieces.insert(cand.id, piece.to_string())));
        }
        trace.piece.iter().for_each(|piece| drop(pieces.insert(trace.token, piece.to_string())));
        let path = trace.story(trace.token).map_or(Vec::new(), |story| {
            let point = |point: &Option<_>| point.map(|p: crate::trace::Point| (p.rank, p.prob.map(short)));
            story.points.iter().map(point).collect()
        });
        Self {
            row: i,
            seed: trace.seed,
            before: trace.n_accepted,
            token: trace.token,
            prob: trace.prob.map(short),
            read: trace.time.map(|time| time.read_ns),
            draw: trace.time.map(|time| time.draw_ns),
            set: Shown::new(&trace.logits, false),
            steps: trace.steps.iter().map(Stage::new).collect(),
            path,
            pieces,
        }
    }

    /// The same with fewer candidates a step.
    fn with_top(&self, n: usize) -> Self {
        let mut row = self.clone();
        row.set.top.truncate(n);
        for step in &mut row.steps {
            step.set.top.truncate(n);
            step.out.truncate(n);
        }
        row
    }

    fn tops(&self) -> impl Iterator<Item = &Vec<Cand>> {
        std::iter::once(&self.set.top).chain(self.steps.iter().flat_map(|step| [&step.set.top, &step.out]))
    }
}

impl Stage {
    fn new(step: &Step) -> Self {
        // What a step that did nothing left stands with the step before it.
        let idle = step.is_idle() && step.after.selected.is_none();
        let mass = step.mass.map(|Mass { removed, kept, lost, gained, .. }| [removed, kept, lost, gained].map(short));
        Self {
            place: step.place_text(),
            name: step.step.clone(),
            params: cut(params(&step.params).trim_start(), PARAMS),
            off: step.off,
            idle,
            before: step.before,
            set: Shown::new(&step.after, idle),
            counts: [step.removed, step.added, step.moved, step.changed, step.masked],
            mass,
            out: step.out.iter().take(OUT).map(cand).collect(),
            ns: step.ns,
        }
    }
}

impl Shown {
    fn new(set: &Set, idle: bool) -> Self {
        let top = if idle { Vec::new() } else { set.top.iter().map(cand).collect() };
        let Set { len, sorted, selected, entropy, .. } = set;
        Self { len: *len, sorted: *sorted, selects: selected.is_some(), entropy: entropy.map(short), top }
    }
}

fn cand(cand: &Candidate) -> Cand {
    (cand.id, cand.prob.map(short), cand.was.map(short))
}

/// Seven digits: those that are shown are rounded as those of a terminal.
fn short(x: f64) -> f64 {
    format!("{x:.6e}").parse().unwrap_or(x)
}
