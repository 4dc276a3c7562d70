//! How a launch is written: a call of a function on cores; of what a device has compiled elsewhere.

use super::Api;
use super::function::Function;
use super::literal::{c_type, literal};
use crate::back::clike::{Description, Dispatch, UniformSource};
use crate::back::cuda::asked_shared_bytes;
use crate::back::harness::raw;
use crate::kernel::{Access, BufferId, Kernel, ScalarArg, Space};
use crate::size::{Size, SizeVar};
use crate::types::Ty;

/// What a number of a buffer is called that was read for a launch.
pub(super) fn read_before(from: BufferId) -> String {
    format!("number{}", from.0)
}

impl Function<'_> {
    /// A launch of a kernel of the plan.
    pub(super) fn launch(&self, kernel: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        match self.platform.api {
            Api::Cores => self.run_blocks(kernel, buffers, scalars),
            Api::Vulkan => self.run_shader(kernel, buffers, scalars),
            _ => self.run_threads(&self.entry.kernels[kernel], buffers, scalars),
        }
    }

    /// Blocks one after the other, by a function.
    fn run_blocks(&self, number: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        let kernel: &Kernel = &self.entry.plan.kernels[number];
        let bytes = |memory: &crate::kernel::Memory| {
            self.names.size(&(Size::product(&memory.shape) * Size::Const(memory.ty.bytes() as u64)))
        };
        let memories: Vec<String> = buffers.iter().map(|id| format!("buffer{}", id.0)).collect();
        let scratch = kernel.memories.iter().filter(|memory| memory.space == Space::Scratch);
        let scratch: Vec<String> = scratch.map(bytes).collect();
        let scalar = |arg: &ScalarArg| match arg {
            ScalarArg::Argument(k) => format!("host_bits(&{0}, sizeof {0})", self.names.params[*k]),
            ScalarArg::Turn(depth) => format!("(uint64_t)turn{depth}"),
            ScalarArg::Const(value) => format!("UINT64_C({})", value.bits),
            ScalarArg::Read(from) => format!("host_bits(&{0}, sizeof {0})", read_before(*from)),
        };
        let scalars: Vec<String> = scalars.iter().map(scalar).collect();
        let written = kernel.memories.iter().filter(|memory| memory.space == Space::Global(Access::Write));
        let written: Vec<String> = written.map(bytes).collect();
        let past = if written.is_empty() { "0".to_string() } else { format!("host_past({})", written.join(" + ")) };
        let sizes: Vec<String> = self.names.sizes.iter().cloned().chain([past]).collect();
        let blocks = self.names.size(&Size::product(&kernel.grid));
        let list = |ty: &str, items: &[String]| {
            // Lists of C have an element at least.
            let items = if items.is_empty() { "0".to_string() } else { items.join(", ") };
            format!("({ty}[]){{{items}}}")
        };
        let pad = "    ".repeat(self.depth + 1);
        format!(
            "host_launch(\n{pad}&call, {}, {blocks}, {}, {}, {},\n{pad}{}, {});",
            self.platform.kernel_function(self.first_kernel + number),
            list("void *", &memories),
            list("int64_t", &scratch),
            scratch.len(),
            list("uint64_t", &scalars),
            list("int64_t", &sizes),
        )
    }

    /// Blocks of threads, by a device that knows the names of arguments.
    fn run_threads(&self, d: &Description, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        let bound = d.buffers.iter().map(|b| format!("host_pass(buffer{})", buffers[b.place].0));
        let uniforms = d.uniforms.iter().map(|u| match u.source {
            UniformSource::Size(SizeVar(k)) => format!("host_pass(({}){})", c_type(u.ty), self.names.sizes[k as usize]),
            UniformSource::Scalar(k) => self.passed(&scalars[k], u.ty),
            UniformSource::Extent(k) => {
                format!("host_pass(({}){})", c_type(u.ty), self.names.size(&raw::extent(&d.kernel, k)))
            }
        });
        let blocks = |(size, block): (&Size, u32)| match &d.dispatch {
            Dispatch::Blocks(_) => self.names.size(size),
            Dispatch::Threads(_) => self.names.size(&Size::CeilDiv(Box::new(size.clone()), block.into())),
        };
        let (Dispatch::Blocks(sizes) | Dispatch::Threads(sizes)) = &d.dispatch;
        let grid = sizes.iter().zip(d.block).map(blocks).collect();
        let handle = self.platform.kernel_handle(&d.name, &d.kernel);
        let handle = match self.platform.api {
            Api::Cuda if asked_shared_bytes(d) > 0 => format!("host_kernel({handle}, {})", asked_shared_bytes(d)),
            _ => handle,
        };
        self.by_device(&handle, &d.kernel, grid, bound.chain(uniforms).collect())
    }

    /// The same of SPIR-V, whose numbers are words in a buffer: sizes, then scalars. Sources of people have scalars first, in words of 32 bits.
    fn run_shader(&self, number: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        let kernel: &Kernel = &self.entry.plan.kernels[number];
        let bound = buffers.iter().map(|id| format!("host_pass(buffer{})", id.0));
        let extents = &self.platform.extents[self.first_kernel + number];
        let extents = extents.iter().map(|size| format!("host_pass((int64_t){})", self.names.size(size)));
        let params = kernel.body.params.iter().zip(scalars);
        let scalars = params.map(|(param, scalar)| self.passed(scalar, param.ty.elem()));
        let grid = kernel.grid.iter().map(|size| self.names.size(size)).collect();
        let mut arguments: Vec<String> = bound.collect();
        match kernel.raw {
            None => arguments.extend(extents.chain(scalars)),
            Some(_) => {
                let words: Vec<String> = scalars.chain(extents).collect();
                let pair = |words: &[String]| match words {
                    [first, second] => format!("host_pair({first}, {second})"),
                    words => words.concat(),
                };
                arguments.extend(words.chunks(2).map(pair));
            }
        }
        self.by_device(&self.platform.kernel_handle(&kernel.name, kernel), kernel, grid, arguments)
    }

    /// A scalar of a launch.
    fn passed(&self, scalar: &ScalarArg, ty: Ty) -> String {
        match scalar {
            ScalarArg::Argument(k) => format!("host_pass({})", self.names.params[*k]),
            ScalarArg::Turn(depth) => format!("host_pass(({})turn{depth})", c_type(ty)),
            ScalarArg::Const(value) => format!("host_pass(({}){})", c_type(ty), literal(*value)),
            ScalarArg::Read(from) => format!("host_pass({})", read_before(*from)),
        }
    }

    fn by_device(&self, handle: &str, kernel: &Kernel, grid: Vec<String>, arguments: Vec<String>) -> String {
        let [x, y, z] = kernel.block;
        let pad = "    ".repeat(self.depth + 1);
        format!(
            "host_launch(\n{pad}&call, {handle}, {{{}}}, {{{x}, {y}, {z}}},\n{pad}{{{}}});",
            grid.join(", "),
            arguments.join(", "),
        )
    }
}
