//! Arrays of the crate `cudarc` without a copy, where both sides go on by the order of streams and nobody waits.
//!
//! What is taken over stays cudarc's to free: its stream waits for our work first. What is lent stays ours: our stream waits for theirs when it
//! comes back. Both sides have the GPU's primary context; other contexts have other memory.

use super::array::{CudaArray, Keeper};
use super::opened::Opened;
use crate::driver::OpensWhenUsed;
use crate::{Buffer, Error};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, sys};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// A slice that was taken over.
struct Taken<T>(CudaSlice<T>);

impl<T> Keeper for Taken<T> {
    fn stream(&self) -> Option<sys::CUstream> {
        Some(self.0.stream().cu_stream())
    }
}

/// Takes a slice over. Our work comes behind what its stream was given, and behind writes to it that cudarc knows of.
pub fn adopt<T: 'static>(slice: CudaSlice<T>) -> Result<Buffer, Error> {
    let context = slice.context();
    let number = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
    let at_work = super::shared(number).at_work()?;
    let opened = &at_work.engine.0;
    same_context(opened, context)?;
    // Its stream waits for writes by other streams of cudarc's.
    let (address, used) = slice.device_ptr(slice.stream());
    drop(used);
    opened.follow(opened.stream, slice.stream().cu_stream())?;
    let bytes = slice.num_bytes();
    let array = CudaArray::lent(opened, address, bytes, Box::new(Taken(slice)))?;
    Ok(Buffer::on_device(Arc::new(array), bytes))
}

/// Lends an array of so many elements as a slice on a stream, whose work comes behind ours.
pub fn lend<T>(buffer: &Buffer, len: usize, stream: &Arc<CudaStream>) -> Result<LentSlice<T>, Error> {
    let Some(array) = buffer.device_memory::<CudaArray>() else {
        let device = buffer.device().unwrap_or("host");
        let why = format!("it is memory of {device}; bring the tensor to a CUDA device first, with `to`");
        return Err(Error::NotShared { why });
    };
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > buffer.len()) {
        return Err(Error::NotShared { why: format!("it has fewer than {len} such elements") });
    }
    let opened = array.writer();
    same_context(&opened, stream.context())?;
    opened.follow(stream.cu_stream(), opened.stream)?;
    // SAFETY: so many elements are there, which the buffer keeps, and nobody writes to it while others have it. The slice is never freed:
    // `LentSlice` lets go of the address.
    let slice = unsafe { stream.upgrade_device_ptr(array.address, len) };
    Ok(LentSlice { slice: ManuallyDrop::new(slice), opened, _buffer: buffer.clone() })
}

/// Memory of one context is nothing to another.
fn same_context(opened: &Opened, theirs: &CudaContext) -> Result<(), Error> {
    if opened.context == theirs.cu_ctx() {
        return Ok(());
    }
    let why = "it belongs to another context than the primary one of its GPU; make the context with `CudaContext::new`";
    Err(Error::NotShared { why: why.to_string() })
}

/// An array of ours as a slice of cudarc's, to be read; dropping it gives it back.
///
/// Calls of ours never write to it meanwhile, and neither may kernels that are launched with it.
pub struct LentSlice<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    /// Whose stream wrote it, and will free it.
    opened: Arc<Opened>,
    /// While somebody else has the buffer, what is to be written is copied.
    _buffer: Buffer,
}

impl<T> Deref for LentSlice<T> {
    type Target = CudaSlice<T>;

    fn deref(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

impl<T> Drop for LentSlice<T> {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more, and it is taken once.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        let stream = slice.stream().clone();
        // Its stream waits for all uses of it; the memory stays.
        slice.leak();
        let opened = &self.opened;
        if opened.follow(opened.stream, stream.cu_stream()).is_err() {
            // Errors have nobody to tell.
            let _ = stream.synchronize();
        }
    }
}
