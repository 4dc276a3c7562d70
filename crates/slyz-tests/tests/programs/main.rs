//! Programs as users of `slyz` write them, on the devices they get. One test program: each that is linked takes seconds.

mod attacks;
mod call_errors;
mod calls;
mod devices;
mod elementwise;
mod empty_axes;
mod front_end;
mod function;
mod generic;
mod graph;
mod here;
mod inference;
mod launches;
mod layout;
mod metal;
mod naperian;
mod operators;
mod powers;
mod products;
mod quantize;
mod source;
mod twins;
mod vex;
mod views;
mod weights;

use here::devices;
