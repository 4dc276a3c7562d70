//! Arrays from and to other libraries without a copy: [DLPack](https://dmlc.github.io/dlpack/latest/), which NumPy, PyTorch, JAX, CuPy
//! and others speak.
//!
//! An array that is lent stays where it is until the borrower gives it back. Neither side writes to it: what we are asked to write we copy
//! first, and of what we lend others are asked the same.

use crate::pool::Block;
use crate::{Buffer, Error};
use slyz_sir::types::Ty;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Memory of the host, of a GPU of NVIDIA, and of the host for such a GPU.
const HOST: i32 = 1;
#[cfg(feature = "cuda")]
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDevice {
    /// Its kind.
    pub device_type: i32,
    /// Which of them.
    pub device_id: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDataType {
    /// Signed, unsigned, float and so on.
    pub code: u8,
    /// Bits of an element.
    pub bits: u8,
    /// Elements that go together.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DlTensor {
    /// Where the memory starts.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DlDevice,
    /// Axes.
    pub ndim: i32,
    /// What is in it.
    pub dtype: DlDataType,
    /// Extents.
    pub shape: *mut i64,
    /// Elements between neighbours along each axis; null for rows one behind the other.
    pub strides: *mut i64,
    /// Where the array starts in the memory.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: what a capsule named `dltensor` holds.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensor {
    /// The array.
    pub dl_tensor: DlTensor,
    /// The lender's own.
    pub manager_ctx: *mut c_void,
    /// Gives the array back.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// An array that somebody lends; dropping it gives it back.
#[derive(Debug)]
pub struct Lent(NonNull<DlManagedTensor>);

// SAFETY: who lends an array by DLPack lets any thread have it and give it back.
unsafe impl Send for Lent {}
// SAFETY: a shared one gives nothing away but an address.
unsafe impl Sync for Lent {}

impl Lent {
    /// An array from elsewhere.
    ///
    /// # Safety
    /// It is a `DLManagedTensor` as its lender made it, nobody else gives it back, and nobody writes to the array until then. Bytes that stand for
    /// truth values are 0 or 1.
    pub unsafe fn from_raw(lent: NonNull<DlManagedTensor>) -> Lent {
        Lent(lent)
    }

    /// The pointer for another library, which has to call its deleter, once.
    pub fn into_raw(self) -> NonNull<DlManagedTensor> {
        let lent = self.0;
        std::mem::forget(self);
        lent
    }

    /// What is lent.
    pub fn tensor(&self) -> &DlTensor {
        // SAFETY: it lives until it is given back, which needs `self`.
        unsafe { &self.0.as_ref().dl_tensor }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: it lives, and is given back once.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// Nobody tells of a stream.
#[cfg(feature = "cuda")]
impl crate::cuda::Keeper for Lent {}

/// What our deleter frees.
struct Context {
    managed: DlManagedTensor,
    shape: Vec<i64>,
    /// Keeps the memory.
    _buffer: Buffer,
}

unsafe extern "C" fn give_back(managed: *mut DlManagedTensor) {
    // SAFETY: `lend` made the context, and a lender's arrays are given back once.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Context>()) });
}

/// Lends an array of elements of a type.
pub fn lend(buffer: &Buffer, ty: Ty, dims: &[usize]) -> Result<Lent, Error> {
    let (data, device) = place(buffer)?;
    let shape: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
    let dl_tensor = DlTensor {
        data,
        device,
        ndim: shape.len() as i32,
        dtype: data_type(ty),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = DlManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(give_back) };
    let context = Box::into_raw(Box::new(Context { managed, shape, _buffer: buffer.clone() }));
    // SAFETY: it was made just now, and nobody else knows it.
    unsafe {
        (*context).managed.dl_tensor.shape = (*context).shape.as_mut_ptr();
        (*context).managed.manager_ctx = context.cast();
        Ok(Lent(NonNull::new_unchecked(&raw mut (*context).managed)))
    }
}

fn place(buffer: &Buffer) -> Result<(*mut c_void, DlDevice), Error> {
    if buffer.is_host() {
        let start = buffer.bytes()?.as_ptr() as *mut c_void;
        return Ok((start, DlDevice { device_type: HOST, device_id: 0 }));
    }
    #[cfg(feature = "cuda")]
    if let Some((address, number)) = crate::cuda::address(buffer)? {
        return Ok((address as *mut c_void, DlDevice { device_type: CUDA, device_id: number }));
    }
    let device = buffer.device().unwrap_or("host").to_string();
    Err(Error::NotLent {
        why: format!("DLPack does not know the memory of {device}; bring the tensor to the host or to cuda"),
    })
}

/// An array that was borrowed.
pub struct Borrowed {
    /// Its memory.
    pub buffer: Buffer,
    /// Its elements.
    pub ty: Ty,
    /// Its extents.
    pub dims: Vec<usize>,
}

/// Takes an array that somebody lends, without a copy.
pub fn borrow(lent: Lent) -> Result<Borrowed, Error> {
    let refuse = |why: String| Error::NotLent { why };
    let tensor = lent.tensor();
    let ty = element_type(tensor.dtype).ok_or_else(|| {
        let DlDataType { code, bits, lanes } = tensor.dtype;
        refuse(format!("there are no elements of code {code} with {bits} bits and {lanes} lanes here"))
    })?;
    let dims = dims(tensor).ok_or_else(|| refuse("its extents are none".to_string()))?;
    let bytes = dims.iter().try_fold(ty.bytes(), |bytes, &dim| bytes.checked_mul(dim));
    let bytes =
        bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(|| refuse("it is too large".to_string()))?;
    if !is_in_rows(tensor, &dims) {
        return Err(refuse(
            "its elements do not stand in rows one behind the other; make it contiguous first".to_string(),
        ));
    }
    let start = (tensor.data as u64).wrapping_add(tensor.byte_offset);
    if bytes > 0 && (tensor.data.is_null() || !start.is_multiple_of(ty.bytes() as u64)) {
        return Err(refuse("it does not start at a multiple of its elements".to_string()));
    }
    let DlDevice { device_type, device_id } = tensor.device;
    let buffer = match device_type {
        HOST | CUDA_HOST if bytes == 0 => Buffer::copy_of(&[])?,
        // SAFETY: the lender's promise: so many bytes are there until they are given back, and nobody writes to them.
        HOST | CUDA_HOST => unsafe { Buffer::lent(Block::lent(start as *mut u8, bytes, Box::new(lent)), bytes) },
        #[cfg(feature = "cuda")]
        CUDA => crate::cuda::adopt(device_id, start, bytes, Box::new(lent))?,
        _ => {
            return Err(refuse(format!(
                "device {device_id} of kind {device_type} is none of ours; bring it to the host first"
            )));
        }
    };
    Ok(Borrowed { buffer, ty, dims })
}

fn dims(tensor: &DlTensor) -> Option<Vec<usize>> {
    let count = usize::try_from(tensor.ndim).ok()?;
    if count == 0 {
        return Some(vec![]);
    }
    if tensor.shape.is_null() {
        return None;
    }
    // SAFETY: the lender's promise: there are as many extents as axes.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, count) };
    shape.iter().map(|&dim| usize::try_from(dim).ok()).collect()
}

/// Do elements stand one behind the other, row by row?
fn is_in_rows(tensor: &DlTensor, dims: &[usize]) -> bool {
    if tensor.strides.is_null() || dims.contains(&0) || dims.is_empty() {
        return true;
    }
    // SAFETY: the lender's promise: there are as many strides as axes.
    let strides = unsafe { std::slice::from_raw_parts(tensor.strides, dims.len()) };
    let mut expected = 1;
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        // Along an axis of one element nobody goes anywhere.
        if dim > 1 && stride != expected {
            return false;
        }
        expected *= dim as i64;
    }
    true
}

const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const BOOL: u8 = 6;

fn data_type(ty: Ty) -> DlDataType {
    let code = match ty {
        Ty::Bool => BOOL,
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => INT,
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => UINT,
        Ty::F16 | Ty::F32 | Ty::F64 => FLOAT,
        Ty::BF16 => BFLOAT,
    };
    DlDataType { code, bits: 8 * ty.bytes() as u8, lanes: 1 }
}

fn element_type(data: DlDataType) -> Option<Ty> {
    Ty::ALL.into_iter().find(|&ty| data_type(ty) == data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of the host's that another library lends, with strides; it counts how often it comes back.
    fn foreign(
        data: &'static [f32],
        shape: &'static [i64],
        strides: &'static [i64],
    ) -> (Lent, &'static std::sync::atomic::AtomicUsize) {
        unsafe extern "C" fn count(managed: *mut DlManagedTensor) {
            // SAFETY: it is the one below.
            unsafe {
                let managed = Box::from_raw(managed);
                (*managed.manager_ctx.cast::<std::sync::atomic::AtomicUsize>())
                    .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let back: &'static _ = Box::leak(Box::new(std::sync::atomic::AtomicUsize::new(0)));
        let dl_tensor = DlTensor {
            data: data.as_ptr() as *mut c_void,
            device: DlDevice { device_type: HOST, device_id: 0 },
            ndim: shape.len() as i32,
            dtype: data_type(Ty::F32),
            shape: shape.as_ptr() as *mut i64,
            strides: strides.as_ptr() as *mut i64,
            byte_offset: 4,
        };
        let managed = DlManagedTensor { dl_tensor, manager_ctx: back as *const _ as *mut c_void, deleter: Some(count) };
        // SAFETY: it is as its lender made it.
        (unsafe { Lent::from_raw(NonNull::from(Box::leak(Box::new(managed)))) }, back)
    }

    #[test]
    fn what_is_borrowed_is_not_copied_and_comes_back_once() {
        static DATA: [f32; 5] = [9.0, 1.0, 2.0, 3.0, 4.0];
        let (lent, back) = foreign(&DATA, &[2, 2], &[2, 1]);
        let mut borrowed = borrow(lent).unwrap();
        assert_eq!((borrowed.ty, &borrowed.dims[..]), (Ty::F32, &[2, 2][..]));
        assert_eq!(borrowed.buffer.bytes().unwrap().as_ptr(), (&raw const DATA[1]).cast());
        // We may not write to it.
        borrowed.buffer.bytes_mut().unwrap()[0] = 1;
        assert_ne!(borrowed.buffer.bytes().unwrap().as_ptr(), (&raw const DATA[1]).cast());
        assert_eq!((back.load(std::sync::atomic::Ordering::SeqCst), DATA[1]), (1, 1.0));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_comes_back() {
        static DATA: [f32; 5] = [0.0; 5];
        let (lent, back) = foreign(&DATA, &[2, 2], &[1, 2]);
        let error = borrow(lent).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("make it contiguous"), "{error}");
        assert_eq!(back.load(std::sync::atomic::Ordering::SeqCst), 1);
        let (mut lent, _) = foreign(&DATA, &[4], &[1]);
        // SAFETY: nobody else has it.
        unsafe { lent.0.as_mut() }.dl_tensor.dtype.lanes = 2;
        assert!(borrow(lent).is_err());
    }

    #[test]
    fn what_is_lent_comes_back_as_it_was() {
        let buffer = Buffer::copy_of(&7u32.to_ne_bytes()).unwrap();
        let lent = lend(&buffer, Ty::U32, &[1]).unwrap();
        // SAFETY: it is ours.
        let again = borrow(unsafe { Lent::from_raw(lent.into_raw()) }).unwrap();
        assert_eq!(again.buffer.bytes().unwrap().as_ptr(), buffer.bytes().unwrap().as_ptr());
        assert_eq!((again.ty, again.dims), (Ty::U32, vec![1]));
    }
}
