//! Parts of a comparison, their files, and how they become one.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cells::Cell;
use super::error::ShardError;
use super::setup::Setup;

/// The version that this crate writes, and the only one so far.
const VERSION: u32 = 1;

/// Which part of a comparison: `2/3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardNumber {
    i: usize,
    n: usize,
}

impl ShardNumber {
    /// All of it.
    pub const WHOLE: Self = Self { i: 1, n: 1 };

    /// Part `i` of `n`, from 1. None where there is no such part.
    pub fn new(i: usize, n: usize) -> Option<Self> {
        (1..=n).contains(&i).then_some(Self { i, n })
    }

    /// Which part, from 1.
    pub fn i(self) -> usize {
        self.i
    }

    /// How many parts there are.
    pub fn n(self) -> usize {
        self.n
    }

    /// The cells of this part, of `n_cells`: parts differ by one cell at most, and where there are more parts than cells,
    /// some are empty.
    pub fn cells(self, n_cells: usize) -> Range<usize> {
        let begin_of = |i: usize| (n_cells as u128 * i as u128 / self.n as u128) as usize;
        begin_of(self.i - 1)..begin_of(self.i)
    }
}

impl fmt::Display for ShardNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.i, self.n)
    }
}

impl FromStr for ShardNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Self::new(i.parse().ok()?, n.parse().ok()?));
        numbers.ok_or_else(|| format!("\"{text}\" is no part of a whole; 1/3, 2/3 and 3/3 are"))
    }
}

impl TryFrom<String> for ShardNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ShardNumber> for String {
    fn from(number: ShardNumber) -> Self {
        number.to_string()
    }
}

/// A part of a comparison: some of its cells, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    pub(super) setup: Setup,
    pub(super) number: ShardNumber,
    pub(super) cells: Vec<Cell>,
}

/// The first line of a shard's file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head<'a> {
    version: u32,
    shard: ShardNumber,
    setup: Cow<'a, Setup>,
}

impl Shard {
    /// What the whole is of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Which part this is.
    pub fn number(&self) -> ShardNumber {
        self.number
    }

    /// The results.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Writes the shard as lines of JSON: `{"version": 1, "shard": "1/3", "setup": {…}}`, and then one [`Cell`] a line.
    /// [`read`](Self::read) gives back the same bits.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: impl Write) -> std::io::Result<()> {
        write(&self.setup, self.number, &self.cells, out)
    }

    /// Reads a shard's file.
    ///
    /// # Errors
    /// A file that cannot be read or is of another version, a line that is not what belongs there, or too few or too many of
    /// them.
    pub fn read(path: &Path) -> Result<Self, ShardError> {
        let io = |source| ShardError::Io { path: path.into(), source };
        let wrong = |line: usize, what: String| ShardError::Line { path: path.into(), line, what };
        let mut lines = BufReader::new(std::fs::File::open(path).map_err(io)?).lines();
        let first = lines.next().transpose().map_err(io)?.unwrap_or_default();
        let head: serde_json::Value = serde_json::from_str(&first)
            .map_err(|error| wrong(1, format!("this is no shard of a comparison: {error}")))?;
        match head.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(wrong(1, format!("version {version} is not known; this is version {VERSION}")));
            }
            None => return Err(wrong(1, "this is no shard of a comparison: it has no version".to_string())),
        }
        let head: Head<'static> = serde_json::from_str(&first).map_err(|error| wrong(1, error.to_string()))?;
        let setup = head.setup.into_owned();
        setup.check().map_err(|error| wrong(1, error.to_string()))?;
        let wanted = head.shard.cells(setup.n_cells().map_err(|error| wrong(1, error.to_string()))?);
        let mut cells = Vec::new();
        for (i, line) in lines.enumerate() {
            let line = line.map_err(io)?;
            let cell: Cell = serde_json::from_str(&line).map_err(|error| wrong(i + 2, error.to_string()))?;
            match wanted.start.checked_add(i).filter(|place| wanted.contains(place)) {
                Some(place) => check_cell(&setup, place, &cell).map_err(|what| wrong(i + 2, what))?,
                None => return Err(wrong(i + 2, format!("it goes on after its {} cells", wanted.len()))),
            }
            cells.push(cell);
        }
        if cells.len() < wanted.len() {
            let (found, wanted) = (cells.len(), wanted.len());
            return Err(wrong(found + 2, format!("the file ends after {found} of {wanted} cells")));
        }
        Ok(Self { setup, number: head.shard, cells })
    }
}

fn write(setup: &Setup, shard: ShardNumber, cells: &[Cell], mut out: impl Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut out, &Head { version: VERSION, shard, setup: Cow::Borrowed(setup) })?;
    writeln!(out)?;
    for cell in cells {
        serde_json::to_writer(&mut out, cell)?;
        writeln!(out)?;
    }
    out.flush()
}

/// What is wrong with a cell at its place.
fn check_cell(setup: &Setup, place: usize, cell: &Cell) -> Result<(), String> {
    let there = setup.cell(place).ok_or("there is no such cell")?;
    let (found, wanted) = (cell.chains.len(), setup.chains.len());
    if (cell.seed, cell.row) != there {
        return Err(format!(
            "seed {} and row {} are out of place; {} and {} are next",
            cell.seed, cell.row, there.0, there.1
        ));
    }
    if found != wanted {
        return Err(format!("it has results of {found} chains, and {wanted} are compared"));
    }
    for (result, chain) in cell.chains.iter().zip(&setup.chains) {
        if let Some(problem) = result.problem() {
            return Err(format!("chain {}: {problem}", chain.name));
        }
        if result.token as usize >= setup.n_vocab {
            return Err(format!("chain {}: token is {}, of {} tokens", chain.name, result.token, setup.n_vocab));
        }
        if result.nanos.is_some() != setup.timed {
            let what = if setup.timed { "nanos is missing" } else { "nanos is there, and draws were not timed" };
            return Err(format!("chain {}: {what}", chain.name));
        }
    }
    Ok(())
}

/// A whole comparison: what it is of, and the result of every row.
///
/// Two of the same setup without times are equal to the bit, whatever the number of threads, shards and machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Comparison {
    pub(super) setup: Setup,
    pub(super) cells: Vec<Cell>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    setup: Setup,
    cells: Vec<Cell>,
}

impl Comparison {
    /// What it is of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The results: seed by seed, row by row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(super) fn of_whole(shard: Shard) -> Self {
        Self { setup: shard.setup, cells: shard.cells }
    }

    /// Writes it as its one shard, 1/1, which [`Shard::read`] and [`merge`](Self::merge) bring back.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: impl Write) -> std::io::Result<()> {
        write(&self.setup, ShardNumber::WHOLE, &self.cells, out)
    }

    /// Makes one comparison of all its shards, in whatever order. Each comes with a name for errors: its file.
    ///
    /// # Errors
    /// No shards, a shard of another comparison, one that comes twice, or some that are missing.
    pub fn merge(shards: Vec<(String, Shard)>) -> Result<Self, ShardError> {
        let (first, head) = shards.first().ok_or(ShardError::NoShards)?;
        for (name, shard) in &shards {
            let other_n = (shard.number.n != head.number.n)
                .then(|| format!("it is shard {}, and that one {}", shard.number, head.number));
            if let Some(what) = shard.setup.difference(&head.setup).or(other_n) {
                return Err(ShardError::Foreign { name: name.clone(), first: first.clone(), what });
            }
        }
        let n = head.number.n;
        let mut shards = shards;
        shards.sort_by_key(|(_, shard)| shard.number.i);
        for pair in shards.windows(2) {
            if let [(first, a), (second, b)] = pair
                && a.number == b.number
            {
                let (number, first, second) = (a.number, first.clone(), second.clone());
                return Err(ShardError::Twice { number, first, second });
            }
        }
        if shards.len() < n {
            let is_there = |i: &usize| shards.binary_search_by_key(i, |(_, shard)| shard.number.i).is_ok();
            let missing = (1..=n).filter(|i| !is_there(i)).take(10).collect();
            return Err(ShardError::Missing { n, n_missing: n - shards.len(), missing });
        }
        let mut whole: Option<Self> = None;
        for (_, shard) in shards {
            match &mut whole {
                Some(whole) => whole.cells.extend(shard.cells),
                None => whole = Some(Self::of_whole(shard)),
            }
        }
        whole.ok_or(ShardError::NoShards)
    }
}

impl TryFrom<Written> for Comparison {
    type Error = ShardError;

    fn try_from(written: Written) -> Result<Self, ShardError> {
        let Written { version, setup, cells } = written;
        if version != VERSION {
            return Err(ShardError::Unsound(format!("version {version} is not known; this is version {VERSION}")));
        }
        let unsound = |error: super::CompareError| ShardError::Unsound(error.to_string());
        setup.check().map_err(unsound)?;
        let wanted = setup.n_cells().map_err(unsound)?;
        if cells.len() != wanted {
            return Err(ShardError::Unsound(format!("there are {} cells of {wanted}", cells.len())));
        }
        for (i, cell) in cells.iter().enumerate() {
            check_cell(&setup, i, cell).map_err(|what| ShardError::Unsound(format!("cell {i}: {what}")))?;
        }
        Ok(Self { setup, cells })
    }
}

impl From<Comparison> for Written {
    fn from(comparison: Comparison) -> Self {
        Self { version: VERSION, setup: comparison.setup, cells: comparison.cells }
    }
}
