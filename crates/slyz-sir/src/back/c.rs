//! Stand-in.

/// Writes a plan as C.
pub fn emit(_plan: &crate::kernel::Plan, _wide: bool) -> String {
    String::new()
}
