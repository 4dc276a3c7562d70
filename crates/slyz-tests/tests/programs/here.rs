//! The devices of this machine.

use std::sync::Arc;

/// The devices of this machine. Where it has no GPU that is told.
pub fn devices() -> Vec<Arc<dyn slyz::Device>> {
    let here = |device: &Arc<dyn slyz::Device>| device.name() != "wgpu" || has_gpu();
    slyz::devices().into_iter().filter(here).collect()
}

fn has_gpu() -> bool {
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    slyz_trials::Need::Vulkan.is_met(*FOUND.get_or_init(|| !slyz_run::wgpu::adapters().is_empty()))
}
