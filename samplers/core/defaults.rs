//! Which fields a chain file leaves out: those that only repeat a default that nobody asks about.

/// For `#[serde(skip_serializing_if = "is_zero")]` on `min_keep`, whose default is 0.
pub fn is_zero(value: &u32) -> bool {
    *value == 0
}
