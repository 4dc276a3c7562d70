//! How often loops may turn.

use crate::warn;
use std::sync::OnceLock;

/// The bound of loops whose turns data decide, from `SLYZ_MAX_TURNS`.
pub(crate) fn most_turns() -> Option<u64> {
    static MOST: OnceLock<Option<u64>> = OnceLock::new();
    *MOST.get_or_init(|| {
        let text = std::env::var("SLYZ_MAX_TURNS").ok()?;
        let most = text.trim().parse().ok();
        if most.is_none() {
            warn::warn_once("turns", &format!("SLYZ_MAX_TURNS={text} is not a number; loops have no bound"));
        }
        most
    })
}
