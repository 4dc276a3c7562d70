//! Tensors among other things: memory that is shared with the host, files, and what other libraries have.

#[path = "../programs/here.rs"]
mod here;
mod memory;

use here::devices;
