//! What wgpu does not tell of an adapter and a Vulkan driver does: what it grants of float arithmetic, and its memory.

use slyz_sir::back::naga::FloatControls;

/// What may be asked of the adapter; nothing where it is not a Vulkan one.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn controls(adapter: &wgpu::Adapter) -> FloatControls {
    use ash::vk;
    // SAFETY: the adapter is only asked for properties, and outlives the guard.
    let Some(vulkan) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else {
        return FloatControls::default();
    };
    let instance = vulkan.shared_instance().raw_instance();
    let device = vulkan.raw_physical_device();
    // SAFETY: instance and physical device are alive, as the adapter is.
    let version = unsafe { instance.get_physical_device_properties(device) }.api_version;
    if version < vk::API_VERSION_1_2 {
        return FloatControls::default();
    }
    let mut floats = vk::PhysicalDeviceFloatControlsProperties::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut floats);
    // SAFETY: the chain holds one structure, which Vulkan 1.2 knows.
    unsafe { instance.get_physical_device_properties2(device, &mut all) };
    // Where the widths do not go their own ways, they go the same way or none.
    let pair = |independence: vk::ShaderFloatControlsIndependence, granted: [vk::Bool32; 2]| {
        let [single, double] = granted.map(|granted| granted == vk::TRUE);
        match independence {
            vk::ShaderFloatControlsIndependence::NONE => [single && double; 2],
            _ => [single, double],
        }
    };
    FloatControls {
        denormals: pair(
            floats.denorm_behavior_independence,
            [floats.shader_denorm_preserve_float32, floats.shader_denorm_preserve_float64],
        ),
        specials: [
            floats.shader_signed_zero_inf_nan_preserve_float32 == vk::TRUE,
            floats.shader_signed_zero_inf_nan_preserve_float64 == vk::TRUE,
        ],
        nearest: pair(
            floats.rounding_mode_independence,
            [floats.shader_rounding_mode_rte_float32, floats.shader_rounding_mode_rte_float64],
        ),
    }
}

/// The memory of the adapter's own, where it is known.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    use ash::vk;
    // SAFETY: the adapter is only asked for properties, and outlives the guard.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = vulkan.shared_instance().raw_instance();
    // SAFETY: instance and physical device are alive, as the adapter is.
    let memory = unsafe { instance.get_physical_device_memory_properties(vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps_as_slice().iter();
    heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)).map(|heap| heap.size).max()
}

/// There is no Vulkan.
#[cfg(target_vendor = "apple")]
pub(super) fn controls(_: &wgpu::Adapter) -> FloatControls {
    FloatControls::default()
}

/// Nobody asked yet.
#[cfg(target_vendor = "apple")]
pub(super) fn memory_bytes(_: &wgpu::Adapter) -> Option<u64> {
    None
}
