//! `bounds`: which accesses are seen to be inside, which are not, and that it is never wrong about it.

mod page;
mod proofs;
mod random;
mod support;
