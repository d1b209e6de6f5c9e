//! Plots as SVG: a strip a chain, columns with titles across all strips. Nothing is told by colour alone.

use std::fmt::Write;

/// The whole's width, and what is left of and right of the strips.
const WIDTH: f64 = 912.0;
const LEFT: f64 = 158.0;
const RIGHT: f64 = 64.0;
const STRIP: f64 = 38.0;
const GAP: f64 = 12.0;

/// A plot.
pub struct Figure {
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it.
    pub text: String,
    /// One a chain.
    pub strips: Vec<Strip>,
    /// What a column says; each has the same width.
    pub columns: Vec<Column>,
    /// Texts under the plot, each at a place from 0 to 1.
    pub ticks: Vec<(f64, String)>,
}

/// What belongs to one chain.
pub struct Strip {
    /// The chain.
    pub name: String,
    /// What stands at the right end.
    pub note: String,
    /// What is drawn.
    pub marks: Vec<Mark>,
}

/// Something drawn, of heights from 0 to 1 that stand in the columns.
pub enum Mark {
    /// A bar a column.
    Bars(Vec<f64>),
    /// A line over the columns' middles.
    Line(Vec<f64>),
    /// The baseline's line, dashed behind another chain's.
    Behind(Vec<f64>),
    /// The baseline's line on its own strip.
    Own(Vec<f64>),
    /// A small triangle below a place from 0 to 1.
    Middle(f64),
}

/// A column across all strips.
pub struct Column {
    /// What it says when it is pointed at: lines of text.
    pub says: String,
    /// The same rows in another figure have the same number.
    pub bin: Option<usize>,
}

impl Figure {
    pub fn svg(&self) -> String {
        let plot = WIDTH - LEFT - RIGHT;
        let bottom = GAP + self.strips.len() as f64 * (STRIP + GAP);
        let label = escape(&self.title);
        let mut svg =
            format!(r#"<svg viewBox="0 0 {WIDTH} {:.0}" tabindex="0" role="img" aria-label="{label}">"#, bottom + 16.0);
        for (i, strip) in self.strips.iter().enumerate() {
            strip.write(GAP + i as f64 * (STRIP + GAP), self.columns.len(), &mut svg);
        }
        for (place, text) in &self.ticks {
            let (x, anchor) = (LEFT + place * plot, if *place < 0.99 { "middle" } else { "end" });
            let anchor = if *place > 0.005 { anchor } else { "start" };
            let y = bottom + 8.0;
            let _ = write!(
                svg,
                r#"<text class="small" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
                escape(text)
            );
        }
        let width = plot / self.columns.len().max(1) as f64;
        for (i, Column { says, bin }) in self.columns.iter().enumerate() {
            let x = LEFT + i as f64 * width;
            let bin = bin.map_or(String::new(), |bin| format!(r#" data-bin="{bin}""#));
            let height = bottom - GAP;
            let _ = write!(
                svg,
                r#"<rect class="hit"{bin} x="{x:.2}" y="{:.0}" width="{width:.2}" height="{height:.0}"><title>{}</title></rect>"#,
                GAP - 4.0,
                escape(says)
            );
        }
        svg + "</svg>\n"
    }
}

impl Strip {
    fn write(&self, top: f64, n_columns: usize, svg: &mut String) {
        let (base, plot) = (top + STRIP, WIDTH - LEFT - RIGHT);
        let name = escape(&shortened(&self.name, 22));
        let middle = top + STRIP / 2.0 + 5.0;
        let _ = write!(svg, r#"<text x="0" y="{middle:.1}">{name}</text>"#);
        let _ = write!(svg, r#"<path class="rule" d="M{LEFT} {base:.1}h{plot:.1}"/>"#);
        let x = WIDTH - RIGHT + 8.0;
        let _ = write!(svg, r#"<text class="small" x="{x:.1}" y="{middle:.1}">{}</text>"#, escape(&self.note));
        for mark in &self.marks {
            let (class, path) = mark.path(base, plot / n_columns.max(1) as f64);
            let _ = write!(svg, r#"<path class="{class}" d="{path}"/>"#);
        }
    }
}

impl Mark {
    /// Its class and its path, on a base line, with columns of a width.
    fn path(&self, base: f64, width: f64) -> (&'static str, String) {
        let up = |height: f64| base - height.clamp(0.0, 1.0) * STRIP;
        let line = |heights: &[f64]| {
            let mut path = String::new();
            for (i, height) in heights.iter().enumerate() {
                let (letter, x) = (if i == 0 { 'M' } else { 'L' }, LEFT + (i as f64 + 0.5) * width);
                let _ = write!(path, "{letter}{x:.1} {:.1}", up(*height));
            }
            // A line of one place would not be seen.
            if heights.len() == 1 { path + "h.1" } else { path }
        };
        match self {
            Self::Bars(heights) => {
                let mut path = String::new();
                for (i, height) in heights.iter().enumerate().filter(|(_, height)| **height > 0.0) {
                    let (x, tall) = (LEFT + i as f64 * width, (base - up(*height)).max(0.8));
                    let bar = (width - 1.0).max(width * 0.7);
                    let _ = write!(path, "M{x:.1} {base:.1}v-{tall:.1}h{bar:.1}v{tall:.1}z");
                }
                ("bar", path)
            }
            Self::Line(heights) => ("line", line(heights)),
            Self::Behind(heights) => ("base", line(heights)),
            Self::Own(heights) => ("base own", line(heights)),
            Self::Middle(place) => {
                let x = LEFT + place * (WIDTH - LEFT - RIGHT);
                ("mid", format!("M{x:.1} {:.1}l4 7h-8z", base + 1.5))
            }
        }
    }
}

/// A text with its end cut off where it is longer than `n` characters.
fn shortened(text: &str, n: usize) -> String {
    if text.chars().count() <= n {
        return text.to_string();
    }
    text.chars().take(n.saturating_sub(1)).chain(['…']).collect()
}

/// A text in HTML, in an attribute, too.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
