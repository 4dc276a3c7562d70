//! Kernels that people wrote in the language of a device, called alone and inside of traced functions.

use crate::arr::Arr;
use crate::compile::{Compiled, Function, Types, compile};
use crate::elem::{Elem, parts_of};
use crate::error::Error;
use crate::extent::{Axis, Extent};
use crate::output::Output;
use crate::param::Param;
use crate::record;
use crate::shape::Shape;
use crate::state::{LoopState, State, restored, saved};
use crate::trace::{self, Handle, Loc, Ty};
use slyz_sir::raw::{Language, RawKernel, Source};
use std::panic::Location;
use std::sync::Arc;

/// A kernel that you wrote yourself, in the languages of some devices: CUDA, HIP, OpenCL C, Metal, WGSL, C. `Sig` is what it is called as.
///
/// It is called inside of traced functions, where nothing is fused with it, or [alone](Raw::compile). Its sources have one function of the kernel's
/// name, whose parameters are, in order: pointers to the arrays among the parameters, pointers to the results, the scalars among the
/// parameters, and the extents that were asked for, as 64-bit integers.
///
/// | language | what else |
/// |---|---|
/// | CUDA, HIP, OpenCL C | `extern "C" __global__ void`, for OpenCL `__kernel void`; run by each thread; there may be more threads than were asked for |
/// | C | `void`; behind the extents stand `int64_t begin, int64_t end`: threads are numbers of this range, which each core gets some of |
/// | Metal | `kernel void`; all of it at `[[buffer(0)]]`, `[[buffer(1)]]`, …, scalars and extents as `constant T &`; other parameters are the threads' places |
/// | WGSL | `@compute`, with `@workgroup_size` as [`block`](Raw::block) says; arrays and results are storage buffers at `@group(0) @binding(0)`, `@binding(1)`, …; behind them is a `var<uniform>`, a struct of the scalars and extents, 32 bits each |
///
/// A device that the kernel is not written for runs its [meaning](Raw::meaning), and so does the interpreter: tests compare. Projects
/// ([`Module::write_project`](crate::Module::write_project)) and bundles carry the source in the language of their target, beside what Słyż writes.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Raw;
/// axis!(N);
///
/// fn saxpy() -> Raw<fn(Exp<f32>, Arr<f32, N>, Arr<f32, N>) -> Arr<f32, N>> {
///     let raw = Raw::new("saxpy")
///         .threads::<N>()
///         .extent::<N>()
///         .meaning(|a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| x * a + y)
///         .wgsl("
///             struct Call { a: f32, n: u32 }
///             @group(0) @binding(0) var<storage> x: array<f32>;
///             @group(0) @binding(1) var<storage> y: array<f32>;
///             @group(0) @binding(2) var<storage, read_write> result: array<f32>;
///             @group(0) @binding(3) var<uniform> call: Call;
///             @compute @workgroup_size(256)
///             fn saxpy(@builtin(global_invocation_id) at: vec3<u32>) {
///                 if at.x < call.n { result[at.x] = call.a * x[at.x] + y[at.x]; }
///             }");
///     // SAFETY: they read and write elements below n, and write all of the result.
///     unsafe {
///         raw.cuda(r#"
///             extern "C" __global__ void saxpy(const float *x, const float *y, float *result, float a, long long n) {
///                 long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
///                 if (i < n) result[i] = a * x[i] + y[i];
///             }"#)
///         .c("
///             void saxpy(const float *x, const float *y, float *result, float a, long long n, long long begin, long long end) {
///                 for (long long i = begin; i < end; i++) result[i] = a * x[i] + y[i];
///             }")
///     }
/// }
///
/// // Alone, and between other operations.
/// let alone = saxpy().compile()?;
/// assert_eq!(alone.call(2.0, &[1.0f32, 2.0], &[0.5, 0.5])?.to_vec()?, [2.5, 4.5]);
/// let kernel = saxpy();
/// let sum = compile(move |x: Arr<f32, N>| kernel.call(3.0, x + 1.0, x).sum())?;
/// assert_eq!(sum.call(&[1.0f32, 2.0])?.value()?, 18.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Raw<Sig: Types> {
    kernel: Arc<RawKernel>,
    entry: Option<String>,
    threads: Vec<Extent>,
    extents: Vec<Extent>,
    meaning: Option<Meaning<Sig>>,
}

type Meaning<Sig> = Arc<dyn Fn(<Sig as Types>::Params) -> <Sig as Types>::Out + Send + Sync>;

impl<Sig: Types> Clone for Raw<Sig> {
    fn clone(&self) -> Self {
        Raw {
            kernel: self.kernel.clone(),
            entry: self.entry.clone(),
            threads: self.threads.clone(),
            extents: self.extents.clone(),
            meaning: self.meaning.clone(),
        }
    }
}

impl<Sig: Types> std::fmt::Debug for Raw<Sig> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let languages: Vec<String> = self.kernel.sources.iter().map(|source| source.language.to_string()).collect();
        write!(f, "Raw {} in {}", self.kernel.name, languages.join(", "))
    }
}

/// Threads of a block where nobody says.
const BLOCK: [u32; 3] = [256, 1, 1];

impl<Sig: Types> Raw<Sig> {
    /// A kernel of that name, which no device knows yet. It is run by one thread.
    pub fn new(name: &str) -> Raw<Sig> {
        let kernel = Arc::new(RawKernel { name: name.to_string(), block: BLOCK, sources: vec![] });
        Raw { kernel, entry: None, threads: vec![Extent::fixed(1)], extents: vec![], meaning: None }
    }

    /// A thread for each position of a shape of one to three axes; the last axis is x, whose threads stand side by side.
    pub fn threads<S: Shape>(self) -> Self {
        let axes = S::axes();
        self.threads_in(axes.into_iter().rev())
    }

    /// So many threads in x, y and z, one to three numbers, which may be less than an element each:
    /// `.threads_in([Extent::of::<N>().ceil_div(4)])`.
    pub fn threads_in(mut self, threads: impl IntoIterator<Item = Extent>) -> Self {
        self.threads = threads.into_iter().collect();
        self
    }

    /// Threads of a block in x, y, z; 256 in x where nothing is said. C has no blocks.
    pub fn block(mut self, block: [u32; 3]) -> Self {
        Arc::make_mut(&mut self.kernel).block = block;
        self
    }

    /// Passes the extent of an axis, behind those that were asked for before.
    pub fn extent<A: Axis>(mut self) -> Self {
        self.extents.push(Extent::of::<A>());
        self
    }

    /// The function that the sources from here on are entered by, where it is not called as the kernel is.
    pub fn entry(mut self, name: &str) -> Self {
        self.entry = Some(name.to_string());
        self
    }

    /// What the kernel computes, as a traced function: the interpreter runs it, and every device that the kernel is not written for.
    pub fn meaning<F: Function<Sig> + Send + Sync + 'static>(mut self, f: F) -> Self {
        self.meaning = Some(Arc::new(move |params| f.run(params)));
        self
    }

    /// The kernel in WGSL, for the device `wgpu`. Accesses outside of its arrays are caught by wgpu.
    pub fn wgsl(self, source: impl Into<String>) -> Self {
        self.source(Language::Wgsl, source.into())
    }

    /// The kernel in CUDA C++, for the device `cuda`: compiled by NVRTC, and kept on disk.
    ///
    /// # Safety
    /// Run as this type describes it, it reads only what it is passed, writes only its results, and writes all of them.
    #[allow(unsafe_code)]
    pub unsafe fn cuda(self, source: impl Into<String>) -> Self {
        self.source(Language::Cuda, source.into())
    }

    /// The kernel in HIP, for the device `hip`: compiled by hiprtc. Wavefronts have 64 lanes or 32, as the GPU has them.
    ///
    /// # Safety
    /// As [`Raw::cuda`].
    #[allow(unsafe_code)]
    pub unsafe fn hip(self, source: impl Into<String>) -> Self {
        self.source(Language::Hip, source.into())
    }

    /// The kernel in Metal, for projects of `Target::Metal`. No device here runs it: `wgpu` takes [WGSL](Raw::wgsl) on GPUs of Apple, too.
    ///
    /// # Safety
    /// As [`Raw::cuda`].
    #[allow(unsafe_code)]
    pub unsafe fn metal(self, source: impl Into<String>) -> Self {
        self.source(Language::Metal, source.into())
    }

    /// The kernel in OpenCL C, for the device `opencl`.
    ///
    /// # Safety
    /// As [`Raw::cuda`].
    #[allow(unsafe_code)]
    pub unsafe fn opencl(self, source: impl Into<String>) -> Self {
        self.source(Language::OpenCl, source.into())
    }

    /// The kernel in C, for the device `cpu`: cores call it side by side, each with a range of threads.
    ///
    /// # Safety
    /// As [`Raw::cuda`]; calls with ranges that do not meet write elements that do not either.
    #[allow(unsafe_code)]
    pub unsafe fn c(self, source: impl Into<String>) -> Self {
        self.source(Language::C, source.into())
    }

    fn source(mut self, language: Language, text: String) -> Self {
        let entry = self.entry.clone().unwrap_or_else(|| self.kernel.name.clone());
        let sources = &mut Arc::make_mut(&mut self.kernel).sources;
        sources.retain(|source| source.language != language);
        sources.push(Source { language, entry, text });
        self
    }
}

/// What a raw kernel gives: an `Arr`, or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "a raw kernel cannot give `{Self}`",
    label = "expected `Arr<T, S>`, or a tuple of them"
)]
pub trait RawResult: Sized {
    /// The types of the leaves and the axes of each array.
    #[doc(hidden)]
    fn arrays(out: &mut Vec<(Vec<Ty>, Vec<Extent>)>, at: Loc);

    #[doc(hidden)]
    fn give(next: &mut dyn FnMut() -> Handle) -> Self;

    #[doc(hidden)]
    fn take(self, out: &mut Vec<Handle>);
}

impl<T: Elem, S: Shape> RawResult for Arr<T, S> {
    fn arrays(out: &mut Vec<(Vec<Ty>, Vec<Extent>)>, at: Loc) {
        let parts = parts_of::<T>();
        // Reads rely on it that positions are inside.
        if parts.iter().any(|part| part.axis.is_some()) {
            let help = "give numbers, and make them positions with `Near::new(..).clamp()`";
            trace::error(at, "a raw kernel gives positions, which nobody has looked at", help);
        }
        // Rust relies on it that they are 0 or 1.
        if parts.iter().any(|part| part.ty == Ty::Bool) {
            let help = "give bytes, `Arr<u8, S>`, and compare them with 0 behind the kernel";
            trace::error(at, "a raw kernel gives flags, whose bits nobody has looked at", help);
        }
        if S::axes().is_empty() {
            trace::error(
                at,
                "a raw kernel gives an array without axes",
                "give one of a single element, `Arr<T, Fix<1>>`",
            );
        }
        out.push((parts.iter().map(|part| part.ty).collect(), S::axes()));
    }

    fn give(next: &mut dyn FnMut() -> Handle) -> Self {
        Arr::new(next())
    }

    fn take(self, out: &mut Vec<Handle>) {
        out.push(self.handle());
    }
}

macro_rules! results {
    ($($R:ident $i:tt),*) => {
        impl<$($R: RawResult),*> RawResult for ($($R,)*) {
            fn arrays(out: &mut Vec<(Vec<Ty>, Vec<Extent>)>, at: Loc) { $($R::arrays(out, at);)* }
            fn give(next: &mut dyn FnMut() -> Handle) -> Self { ($($R::give(next),)*) }
            fn take(self, out: &mut Vec<Handle>) { $(self.$i.take(out);)* }
        }
    };
}
results!(A 0, B 1);
results!(A 0, B 1, C 2);
results!(A 0, B 1, C 2, D 3);

impl<Sig: Types> Raw<Sig>
where
    Sig::Params: State,
    Sig::Out: RawResult,
{
    /// Records a call.
    fn record(&self, at: Loc, args: Sig::Params) -> Sig::Out {
        let args = saved(args);
        let mut results = vec![];
        Sig::Out::arrays(&mut results, at);
        let sizes = [&self.threads[..], &self.extents[..]];
        let given = match &self.meaning {
            None => record::raw(at, &self.kernel, &args, sizes, &results, None),
            Some(meaning) => {
                let mut means = |args: &[trace::Part]| {
                    let mut out = vec![];
                    meaning(restored(args)).take(&mut out);
                    out
                };
                record::raw(at, &self.kernel, &args, sizes, &results, Some(&mut means))
            }
        };
        let mut given = given.into_iter();
        Sig::Out::give(&mut || given.next().unwrap_or(Handle::POISON))
    }
}

macro_rules! arity {
    ($($A:ident $a:ident),*) => {
        impl<R: RawResult, $($A: State),*> Raw<fn($($A),*) -> R> {
            /// Calls it inside of a traced function: among its statements, or in a loop that carries arrays, not for single elements.
            #[track_caller]
            #[allow(clippy::too_many_arguments)]
            pub fn call(&self, $($a: impl LoopState<$A>),*) -> R {
                let at: Loc = Location::caller();
                self.record(at, ($($a.start(),)*))
            }
        }

        impl<R: RawResult + Output, $($A: State + Param),*> Raw<fn($($A),*) -> R>
        where
            R: 'static,
            $($A: 'static,)*
        {
            /// The kernel by itself, to be called with tensors.
            #[track_caller]
            pub fn compile(&self) -> Result<Compiled<fn($($A),*) -> R>, Error> {
                let raw = self.clone();
                compile(move |$($a: $A),*| raw.call($($a),*))
            }
        }
    };
}
arity!(A a);
arity!(A a, B b);
arity!(A a, B b, C c);
arity!(A a, B b, C c, D d);
arity!(A a, B b, C c, D d, E e);
arity!(A a, B b, C c, D d, E e, F f);
