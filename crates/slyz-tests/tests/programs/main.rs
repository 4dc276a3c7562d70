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
mod inference;
mod launches;
mod layout;
mod metal;
mod naperian;
mod operators;
mod powers;
mod products;
mod source;
mod twins;
mod vex;

use std::sync::Arc;

/// The devices of this machine. Where it has no GPU that is told.
fn devices() -> Vec<Arc<dyn slyz::Device>> {
    let here = |device: &Arc<dyn slyz::Device>| device.name() != "wgpu" || has_gpu();
    slyz::devices().into_iter().filter(here).collect()
}

fn has_gpu() -> bool {
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    slyz_trials::Need::Vulkan.is_met(*FOUND.get_or_init(|| !slyz_run::wgpu::adapters().is_empty()))
}
