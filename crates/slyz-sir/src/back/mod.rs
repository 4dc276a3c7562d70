//! Stand-in.
pub mod c;
