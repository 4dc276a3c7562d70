//! The wgpu device: any GPU behind Vulkan, Metal or DirectX 12.
//!
//! ```text
//! program ── optimize, lower for the adapter ──> plan ── emit ──> naga modules ── driver ──> pipelines ── driver ──> results
//! ```
//!
//! Compiled programs are kept in memory by structural hash. Nothing is asked of a driver before the first program is compiled or
//! the device is described, and a machine without one gives a typed error then. A call gives commands to the GPU and comes
//! back; its results stay there until somebody reads them.

mod adapter;
mod array;
mod cache;
mod clock;
mod command;
mod driver;
mod engine;
mod geometry;
mod groups;
mod memory;
mod once;
mod pace;
mod pipeline;
mod probe;
mod transfer;
mod wait;

use crate::driver::{OpensWhenUsed, Slot};
use crate::{Error, PoolStats};
use adapter::Opened;
use engine::Gpu;
use slyz_sir::choices::Precision;
use std::sync::Arc;

/// An adapter of this machine, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSummary {
    /// The name that the driver gives.
    pub name: String,
    /// `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// It runs on the CPU (lavapipe, SwiftShader, WARP).
    pub software: bool,
    /// What a kernel can see of an array at once. Calls with larger arrays run in pieces.
    pub binding_bytes: u64,
    /// The largest buffer.
    pub buffer_bytes: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Memory that the threads of a block share.
    pub shared_bytes: u32,
    /// Sizes of its subgroups, the smallest and the largest; `None` without subgroup operations.
    pub subgroup: Option<(u32, u32)>,
    /// It can say when a kernel began and ended.
    pub timestamps: bool,
    /// Types that it has besides 32-bit ones.
    pub types: Vec<&'static str>,
}

/// Every adapter that can run kernels, best first.
pub fn adapters() -> Vec<AdapterSummary> {
    adapter::all().iter().map(adapter::summary).collect()
}

/// The wgpu device.
pub struct Wgpu {
    wish: Option<String>,
    plain: bool,
    window: Option<u64>,
    precision: Option<Precision>,
    adapter: Slot<Gpu>,
}

impl Wgpu {
    /// The device's name.
    pub const NAME: &'static str = "wgpu";

    /// A device on the best adapter, or on the best one with that in its name. Programs share the one of [`crate::device`],
    /// which takes the wish from the environment variable `SLYZ_ADAPTER`.
    pub fn new(wish: Option<&str>) -> Wgpu {
        let wish = wish.filter(|wish| !wish.is_empty()).map(String::from);
        Wgpu { wish, plain: false, window: None, precision: None, adapter: Slot::default() }
    }

    /// The same, but the adapter's optional features are left alone, as if it were a GPU that has none: positions are 32-bit
    /// numbers, and 64-bit types an error.
    pub fn plain(wish: Option<&str>) -> Wgpu {
        Wgpu { plain: true, ..Wgpu::new(wish) }
    }

    /// The same, but kernels see no more than so many bytes of an array at once; for tests.
    #[doc(hidden)]
    pub fn with_window(wish: Option<&str>, bytes: u64) -> Wgpu {
        Wgpu { window: Some(bytes), ..Wgpu::new(wish) }
    }

    /// The same, with a precision for programs and kernels that ask for none. Without it the environment variable `SLYZ_PRECISION` says
    /// which, or else it is [`Precision::Table`].
    pub fn with_precision(self, precision: Precision) -> Wgpu {
        Wgpu { precision: Some(precision), ..self }
    }

    /// Numbers about the memory of the GPU; all are 0 before it is used.
    pub fn memory(&self) -> PoolStats {
        self.adapter.seen().map(|at_work| at_work.engine.0.memory.stock.stats()).unwrap_or_default()
    }

    /// Makes as if the GPU had so much memory; for tests.
    #[doc(hidden)]
    pub fn limit_memory(&self, bytes: u64) {
        if let Some(at_work) = self.adapter.seen() {
            at_work.engine.0.memory.stock.pretend(bytes);
        }
    }

    /// Takes the GPU away, as a driver might; for tests.
    #[doc(hidden)]
    pub fn lose(&self) {
        if let Some(at_work) = self.adapter.seen() {
            at_work.engine.0.lose();
        }
    }
}

impl OpensWhenUsed for Wgpu {
    type Engine = Gpu;

    fn slot(&self) -> &Slot<Gpu> {
        &self.adapter
    }

    fn open(&self, precision: Precision) -> Result<Gpu, Error> {
        let mut opened = Opened::new(self.wish.as_deref(), self.plain)?;
        opened.window_bytes = opened.window_bytes.min(self.window.unwrap_or(u64::MAX));
        opened.target.precision = precision;
        Ok(Gpu(Arc::new(opened)))
    }

    fn precision(&self) -> Option<Precision> {
        self.precision
    }

    fn describe(engine: &Gpu) -> String {
        engine.0.describe()
    }

    fn synchronize(engine: &Gpu) -> Result<(), Error> {
        engine.0.synchronize()
    }
}
