//! What a record says about its rows beside the logits.

use crate::Record;
use crate::record::Frame;

/// What was accepted after each row.
pub struct RecordedRows(Vec<After>);

#[derive(Default)]
struct After {
    accepted: Vec<u32>,
    /// Something else happened, too: tokens were taken back, a prompt came, parameters changed.
    has_more: bool,
}

impl RecordedRows {
    pub fn of(record: &Record) -> Self {
        let mut rows: Vec<After> = Vec::with_capacity(record.n_draws());
        for frame in record.frames() {
            match (frame, rows.last_mut()) {
                (Frame::Draw(_), _) => rows.push(After::default()),
                (_, None) => {}
                (Frame::Accept(tokens), Some(row)) => row.accepted.extend(tokens),
                (Frame::Prompt(tokens), Some(row)) => {
                    row.accepted.extend(tokens);
                    row.has_more = true;
                }
                (_, Some(row)) => row.has_more = true,
            }
        }
        Self(rows)
    }

    pub fn accepted(&self, row: usize) -> &[u32] {
        self.0.get(row).map_or(&[], |row| &row.accepted)
    }

    pub fn only_accepted(&self, row: usize) -> bool {
        self.0.get(row).is_none_or(|row| !row.has_more)
    }
}
