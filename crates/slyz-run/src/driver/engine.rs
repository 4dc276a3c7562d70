//! What a device has to bring to run plans.

use super::variant::Variant;
use crate::profile::host_bandwidth;
use crate::signature::Sizes;
use crate::{ArrayData, Buffer, BuildTime, Clock, Error};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::launch::Template;
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected};
use slyz_sir::pass;
use slyz_sir::pass::weave::Unwoven;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::types::Ty;
use std::fmt::Display;
use std::time::Instant;

/// A list that is nearly always short: so long it stands where it is made, and a small call asks for no memory.
pub(crate) type Few<T> = smallvec::SmallVec<[T; 4]>;

/// A device, as the driver sees it. Clones are the same device.
pub(crate) trait Engine: Clone + Send + Sync + 'static {
    /// The device's name.
    const NAME: &'static str;
    /// Where its arrays are, for messages, behind what they are: nothing, or ` on the GPU`.
    const PLACE: &'static str;
    /// Calls that code with 32-bit positions is enough for.
    const NARROW: Narrow;
    /// Other sizes may want another plan.
    const PLANS_BY_SIZE: bool;
    /// What people write kernels for it in; nothing where it runs what those mean.
    const LANGUAGE: Option<Language>;
    /// It can keep launches, and run them again by itself.
    const RECORDS: bool = false;

    /// An array of the device: its own, or one of the caller's that it works on where it is.
    type Array<'a>;
    /// Launches that were not given to the device yet, and the memory that they need.
    type Queue: Default;
    /// What was built of a variant.
    type Code: Default + Send + Sync;
    /// A piece of a launch in numbers, with its code. It is made once for the sizes of a call, and kept.
    type Numbers: Send + Sync;
    /// Launches that it keeps; [`Unrecorded`] where it cannot.
    type Recording: Send + Sync;

    /// What tells two devices of a kind apart, while both are there.
    fn address(&self) -> usize;

    /// May calls of other sizes have another plan? Where nobody can compile one they run the usual.
    fn plans_by_size(&self) -> bool {
        Self::PLANS_BY_SIZE
    }

    /// Where its results are: the device's name, nothing where that is the host's memory.
    fn memory(&self) -> Option<&'static str> {
        Some(Self::NAME)
    }

    /// An error once the device is gone.
    fn alive(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The limits of devices that have threads. Cores have none: kernels are woven for them, and see whole arrays.
    fn limits(&self) -> Option<Limits>;

    /// Bytes that a copy in its memory reads and writes in a second.
    fn copy_bandwidth(&self) -> Result<f64, Error> {
        host_bandwidth()
    }

    // Memory.

    /// Does it work on that buffer where it is? Its data is not looked at then.
    fn holds(&self, buffer: &Buffer) -> bool;

    /// Can its launches write to that buffer where it is?
    fn writes(&self, buffer: &Buffer) -> bool {
        self.holds(buffer)
    }

    /// Memory with anything in it, for launches of this queue to write.
    fn allocate<'a>(&self, queue: &mut Self::Queue, bytes: usize, what: &dyn Display)
    -> Result<Self::Array<'a>, Error>;

    /// Data to be read, where it is or in a copy.
    fn upload<'a>(&self, ty: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Self::Array<'a>, Error>;

    /// Data to be written, which nobody else sees. Where that is a copy, the buffer that takes its place comes with it.
    fn own<'a>(
        &self,
        queue: &mut Self::Queue,
        data: &'a mut Buffer,
        what: &dyn Display,
    ) -> Result<(Self::Array<'a>, Option<Buffer>), Error>;

    /// The first bytes of an array, behind all that was submitted.
    fn download(&self, from: &Self::Array<'_>, into: &mut [u8]) -> Result<(), Error>;

    /// Takes an array that the launches of this queue need no more.
    fn free(&self, _queue: &mut Self::Queue, array: Self::Array<'_>) {
        drop(array);
    }

    /// An array as a result of that many bytes.
    fn buffer(&self, array: Self::Array<'_>, bytes: usize) -> Result<Buffer, Error>;

    /// An argument as a result.
    fn share(&self, argument: &Buffer) -> Result<Buffer, Error> {
        Ok(argument.clone())
    }

    // Code.

    /// What all plans of a program start from, or why there are none.
    fn begin(&self, program: &Program) -> Result<Program, Error> {
        Ok(pass::optimize(program))
    }

    /// The plan for sizes as expected; `in_pieces` where arrays are larger than what a kernel sees at once.
    fn lower(&self, program: &Program, expected: &Expected, in_pieces: bool, choice: Choice) -> Plan;

    /// What plans depend on besides: another machine has other plans that are fast.
    fn machine(&self) -> String;

    /// Builds what can be built before the first call.
    fn build(&self, _variant: &Variant<Self>) -> Result<Option<BuildTime>, Error> {
        Ok(None)
    }

    /// What is generated for a variant, to read.
    fn source(&self, variant: &Variant<Self>) -> Result<String, Error>;

    /// The numbers of a piece, and code for it.
    fn number(&self, piece: &Piece<'_, Self>) -> Result<Self::Numbers, Error>;

    // Work.

    /// Queues a launch, or runs it.
    ///
    /// # Safety
    /// The numbers are of a variant that lives. Arrays are those of the kernel's bound memories, with at least the bytes of their
    /// shapes. Those that it writes nobody else has, and they have one name; the others nobody writes meanwhile. Accesses are inside:
    /// proven, looked at by the code, or promised by the caller.
    unsafe fn launch(&self, queue: &mut Self::Queue, launch: &Launch<'_, '_, Self>) -> Result<(), Error>;

    /// Runs a launch by itself, and says how long it took.
    ///
    /// # Safety
    /// As [`Engine::launch`].
    unsafe fn time(&self, queue: &mut Self::Queue, launch: &Launch<'_, '_, Self>) -> Result<(f64, Clock), Error> {
        let start = Instant::now();
        // SAFETY: the caller's promise.
        unsafe { self.launch(queue, launch) }?;
        Ok((start.elapsed().as_secs_f64(), Clock::Host))
    }

    /// Gives the device what is queued, where launches do not go there at once. Nothing waits for it to be done.
    fn submit(&self, _queue: &mut Self::Queue, _what: &dyn Display) -> Result<(), Error> {
        Ok(())
    }

    /// Gives the device what is queued, and takes the first bytes of an array when its last launch is done. Launches behind that
    /// need not be waited for: a device that they keep busy does not notice how long the host takes.
    fn read_back(
        &self,
        queue: &mut Self::Queue,
        from: &Self::Array<'_>,
        into: &mut [u8],
        what: &dyn Display,
    ) -> Result<(), Error> {
        self.submit(queue, what)?;
        self.download(from, into)
    }

    // Launches that are kept.

    /// Where an array is; no two that live are in the same place.
    fn place(&self, _array: &Self::Array<'_>) -> u64 {
        0
    }

    /// From here on the launches of a queue are kept, and not run: as those of one turn of a loop that goes on while something holds, where
    /// that is asked for. `false` where the device cannot.
    fn begin_recording(&self, _queue: &mut Self::Queue, _while_it_holds: bool) -> Result<bool, Error> {
        Ok(false)
    }

    /// What was kept, with the arrays that only these launches need. `holds` has a `bool`: it is looked at when the launches are done,
    /// and they run again while it is true.
    fn end_recording(
        &self,
        _queue: &mut Self::Queue,
        _holds: Option<&Self::Array<'_>>,
        _arrays: Vec<Self::Array<'_>>,
    ) -> Result<Option<Self::Recording>, Error> {
        Ok(None)
    }

    /// Queues launches that were kept, or runs them.
    ///
    /// # Safety
    /// As [`Engine::launch`], for each of them; all arrays that they were kept with are where they were.
    unsafe fn replay(&self, _queue: &mut Self::Queue, _recording: &Self::Recording) -> Result<(), Error> {
        Ok(())
    }

    // Kernels that people write.

    /// Can it run such a kernel at all?
    fn accept(&self, _kernel: &Kernel) -> Result<(), Error> {
        Ok(())
    }

    /// How precise floats are, where that is asked for.
    fn precision(&self, _asked: Option<Precision>) -> Precision {
        Precision::Exact
    }

    /// Can it run the kernel in a form? `trusted` makes the code without what tells faults.
    fn accept_form(&self, _trusted: &dyn Fn() -> Result<Kernel, Trouble>) -> Result<(), Trouble> {
        Ok(())
    }

    /// Does the interpreter take over after such trouble? Then the user has heard of it.
    fn interprets(&self, _kernel: &str, _trouble: &Trouble) -> bool {
        false
    }
}

/// Nothing: launches that a device has kept which keeps none.
pub(crate) enum Unrecorded {}

/// The calls that narrow code does for.
pub(crate) struct Narrow {
    /// Arrays have fewer elements.
    pub(crate) elements: u64,
    /// Axes, counters of loops and threads are fewer.
    pub(crate) extent: u64,
}

/// The limits of a device with threads.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Of an array, in bytes.
    pub(crate) buffer_bytes: u64,
    /// Of one launch.
    pub(crate) launch: gpu::Limits,
    /// Threads of a block in x, y, z.
    pub(crate) block: [u32; 3],
    /// Threads of a block, all together.
    pub(crate) threads: u32,
}

/// A launch, or a piece of one, whose sizes are known.
pub(crate) struct Piece<'p, E: Engine> {
    pub(crate) variant: &'p Variant<E>,
    /// The kernel's place in the plan.
    pub(crate) index: usize,
    /// The kernel of the plan, or the same in windows.
    pub(crate) kernel: &'p Kernel,
    /// It sees windows of its arrays.
    pub(super) windowed: bool,
    pub(crate) sizes: &'p Sizes<'p>,
    pub(crate) grid: [u64; 3],
    /// Where what is bound of each array begins, and its bytes.
    pub(crate) bound: Vec<(u64, u64)>,
    pub(crate) measures: &'p Measures,
}

impl<E: Engine> Piece<'_, E> {
    /// The structural hash of the kernel.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        if self.windowed { &self.variant.windowed(self.index).1 } else { self.variant.hash(self.index) }
    }
}

/// What the sizes of a launch come to.
pub(crate) struct Measures {
    /// Bytes of the bound memories, in order.
    pub(crate) memories: Vec<usize>,
    /// Bytes of the scratch memories of a block, in order.
    pub(crate) scratch: Vec<usize>,
    /// Elements of the largest bound memory.
    pub(crate) largest: u64,
    /// Bytes of the memories that are only written.
    pub(crate) written: usize,
    /// Narrow code does not do.
    pub(crate) wide: bool,
}

/// A launch with its arguments.
pub(crate) struct Launch<'l, 'a, E: Engine> {
    /// In pieces; none where the grid has no blocks.
    pub(crate) pieces: &'l [E::Numbers],
    /// For the bound memories, in order.
    pub(crate) arrays: &'l [&'l E::Array<'a>],
    /// For the scalar parameters, in order; 0 for those that are on the device.
    pub(crate) scalars: &'l [u64],
    /// Scalars that are on the device, by place.
    pub(crate) resident: &'l [(usize, &'l Buffer)],
}

/// Why a kernel that somebody wrote does not run.
pub(crate) enum Trouble {
    /// It has no form for cores.
    Unwoven(Unwoven),
    /// Anything else.
    Other(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Other(error)
    }
}

impl Trouble {
    /// The error for the caller.
    pub(crate) fn into_error(self, template: &Template) -> Error {
        match self {
            Trouble::Unwoven(why) => Error::Plan { name: template.kernel.name.clone(), why: why.to_string() },
            Trouble::Other(error) => error,
        }
    }
}
