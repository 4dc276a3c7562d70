//! Tensors among other things: memory that is shared with the host, files, and what other libraries have.

#[path = "../programs/here.rs"]
mod here;
mod memory;
mod npy;
mod numpy_files;
mod print;

use here::devices;
