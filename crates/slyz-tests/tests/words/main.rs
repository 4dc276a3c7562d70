//! The words of the library against plain Rust, on every device. A test program of its own: each word is small, and so is this.

mod arrays;
mod complex;
mod conv;
mod einsum;
#[path = "../programs/here.rs"]
mod here;
mod loops;
mod nested;
mod numbers;
mod views;

use here::devices;
