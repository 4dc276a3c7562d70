//! An array in the memory of a GPU.

use super::Cuda;
use super::opened::Opened;
use super::order::Order;
use crate::driver::held::Held;
use crate::{Buffer, DeviceMemory, Error};
use cudarc::driver::{result, sys};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What wide accesses start at multiples of.
const ALIGNMENT: u64 = 16;

/// Memory of a GPU. It is taken and given back in the order of a stream, behind what others do with it, so that whoever drops it may have given
/// the GPU work on it that is not done.
pub(crate) struct CudaArray {
    /// The stream that made it.
    opened: Arc<Opened>,
    /// The streams that have to do with it.
    order: Mutex<Order<Arc<Opened>>>,
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: usize,
    /// Whoever owns it, where that is not us.
    keeper: Option<Box<dyn Keeper>>,
}

/// Who owns memory that we have from elsewhere; it goes back when the keeper is dropped.
pub(crate) trait Keeper: Send + Sync {
    /// The stream in whose order it is given back. Without one all work on it has to be done.
    fn stream(&self) -> Option<sys::CUstream> {
        None
    }
}

impl CudaArray {
    /// Memory for an array, with anything in it.
    pub(super) fn new(opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<CudaArray, Error> {
        opened.enter()?;
        // Accesses of several elements at once may go past the end of a short array.
        let bytes = bytes.max(1).next_multiple_of(16);
        // SAFETY: the stream lives, and so will the memory until it is freed in its order.
        let address = unsafe { result::malloc_async(opened.stream, bytes) }
            .map_err(|error| opened.trouble(error, what, bytes as u64))?;
        Ok(CudaArray {
            opened: opened.clone(),
            order: Mutex::new(Order::new(opened.clone())),
            address,
            bytes,
            keeper: None,
        })
    }

    /// Memory that somebody else owns. What does not start where wide accesses want is copied.
    pub(super) fn lent(
        opened: &Arc<Opened>,
        address: sys::CUdeviceptr,
        bytes: usize,
        keeper: Box<dyn Keeper>,
    ) -> Result<CudaArray, Error> {
        if bytes > 0 && address.is_multiple_of(ALIGNMENT) {
            let order = Mutex::new(Order::new(opened.clone()));
            return Ok(CudaArray { opened: opened.clone(), order, address, bytes, keeper: Some(keeper) });
        }
        let what = &"a copy of an array of another library";
        let array = CudaArray::new(opened, bytes, what)?;
        if bytes > 0 {
            // SAFETY: both have so many bytes, and the lender keeps its own until the copy is done.
            unsafe { result::memcpy_dtod_async(array.address, address, bytes, opened.stream) }
                .map_err(|error| opened.trouble(error, what, 0))?;
            opened.synchronize()?;
        }
        Ok(array)
    }

    /// Which GPU it is of.
    pub(super) fn number(&self) -> i32 {
        self.opened.number
    }

    /// The stream that has written it last.
    pub(super) fn writer(&self) -> Arc<Opened> {
        self.order().writer().clone()
    }

    fn order(&self) -> MutexGuard<'_, Order<Arc<Opened>>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for whoever writes to it.
    pub(super) fn finished(&self) -> Result<(), Error> {
        self.writer().synchronize()
    }
}

impl Held for CudaArray {
    type Opened = Opened;

    fn upload(opened: &Arc<Opened>, data: &[u8], what: &dyn Display) -> Result<CudaArray, Error> {
        let array = CudaArray::new(opened, data.len(), what)?;
        if let Some(staging) = opened.staging(data.len()) {
            // SAFETY: the memory has so many bytes.
            unsafe { staging.upload(opened, array.address, data) }?;
        } else if !data.is_empty() {
            // SAFETY: the memory has so many bytes. The driver has copied the host's when the call comes back, or it is waited for.
            unsafe { result::memcpy_htod_async(array.address, data, opened.stream) }
                .map_err(|error| opened.trouble(error, what, data.len() as u64))?;
            if is_locked(data) {
                opened.synchronize()?;
            }
        }
        Ok(array)
    }

    fn of(buffer: &Buffer, opened: &Arc<Opened>) -> Option<Arc<CudaArray>> {
        buffer.device_memory::<CudaArray>().filter(|array| array.opened.is_beside(opened))
    }

    fn before_read(&self, opened: &Arc<Opened>) -> Result<(), Error> {
        self.order().read(opened, |writer| opened.follow(opened.stream, writer.stream))
    }

    fn before_write(&self, opened: &Arc<Opened>) -> Result<(), Error> {
        self.order().write(opened, |other| opened.follow(opened.stream, other.stream))
    }

    fn copied(&self, opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<CudaArray, Error> {
        let copy = CudaArray::new(opened, bytes, what)?;
        // SAFETY: both have so many bytes.
        unsafe { result::memcpy_dtod_async(copy.address, self.address, bytes, opened.stream) }
            .map_err(|error| opened.trouble(error, what, 0))?;
        Ok(copy)
    }

    fn is_lent(&self) -> bool {
        self.keeper.is_some()
    }
}

/// Has somebody locked the host's memory for the GPU? Then copies read it behind our back.
fn is_locked(data: &[u8]) -> bool {
    let mut kind = 0u32;
    let what = sys::CUpointer_attribute_enum::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    // SAFETY: the number lives, and the address is only looked up.
    let found = unsafe { sys::cuPointerGetAttribute((&raw mut kind).cast(), what, data.as_ptr() as u64) };
    found.result().is_ok()
}

impl Drop for CudaArray {
    fn drop(&mut self) {
        let order = self.order.get_mut().unwrap_or_else(PoisonError::into_inner);
        let writer = order.writer();
        let last = writer.stream;
        for reader in order.readers() {
            if writer.follow(last, reader.stream).is_err() {
                let _ = reader.synchronize();
            }
        }
        if let Some(keeper) = &self.keeper {
            // Its owner must not see work of ours on it.
            let follows = |stream| writer.follow(stream, last).is_ok();
            if !keeper.stream().is_some_and(follows) {
                let _ = writer.synchronize();
            }
        } else if writer.enter().is_ok() {
            // SAFETY: nobody has the memory any more, and what streams do with it comes first.
            let _ = unsafe { result::free_async(self.address, last) };
        }
    }
}

impl DeviceMemory for CudaArray {
    fn device(&self) -> &str {
        Cuda::NAME
    }

    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        if into.is_empty() {
            return self.opened.alive();
        }
        let opened = self.writer();
        opened.enter()?;
        let count = into.len().min(self.bytes.saturating_sub(start));
        let address = self.address + start as u64;
        if let Some(staging) = opened.staging(count) {
            // SAFETY: the memory has so many bytes.
            return unsafe { staging.download(&opened, address, &mut into[..count]) };
        }
        let what = &"to read an array";
        // SAFETY: the memory has so many bytes; they are waited for.
        unsafe { result::memcpy_dtoh_async(&mut into[..count], address, opened.stream) }
            .map_err(|error| opened.trouble(error, what, 0))?;
        opened.synchronize()
    }
}
