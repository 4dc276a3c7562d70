//! Backends: kernels written out as text for a compiler of the target.

pub mod c;
