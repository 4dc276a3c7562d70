//! A file that is not there, and something that is no file.
slyz::vex!("nowhere.vex");
slyz::vex!(nowhere);
slyz::vex!(pub mod kernels = "nowhere.vex", fast);

fn main() {}
