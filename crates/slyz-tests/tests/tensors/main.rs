//! Tensors among other things: memory that is shared with the host, files, and what other libraries have.

mod cudarc;
#[path = "../programs/here.rs"]
mod here;
mod libraries;
mod memory;
mod npy;
mod numpy_files;
mod print;
mod progress;
mod streams;

use here::devices;
