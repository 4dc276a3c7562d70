//! Immutable memory with data in it, shared by counting references.

use crate::{Block, Error, Pool};
use std::sync::Arc;

/// Data on a device. Cloning shares it; the memory goes back to its pool with the last clone.
///
/// ```
/// let buffer = slyz_run::Buffer::copy_of(&1.5f32.to_ne_bytes())?;
/// assert_eq!(buffer.as_slice::<f32>(), Some(&[1.5][..]));
/// # Ok::<(), slyz_run::Error>(())
/// ```
#[derive(Clone)]
pub struct Buffer {
    block: Arc<Block>,
    len: usize,
}

impl Buffer {
    /// New memory holding a copy of the bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<Buffer, Error> {
        let mut block = Pool::global().take(bytes.len(), &"a copy of an array")?;
        block.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(Buffer::new(block, bytes.len()))
    }

    /// The first `len` bytes of a block.
    pub(crate) fn new(block: Block, len: usize) -> Buffer {
        debug_assert!(len <= block.bytes().len());
        Buffer { block: Arc::new(block), len }
    }

    /// The same memory, of which at most the first `len` bytes are seen.
    pub fn prefix(&self, len: usize) -> Buffer {
        Buffer { block: self.block.clone(), len: len.min(self.len) }
    }

    /// The data, in the byte order of the host.
    pub fn bytes(&self) -> &[u8] {
        &self.block.bytes()[..self.len]
    }

    /// The data as elements, or `None` when the bytes are not a whole number of them.
    pub fn as_slice<T: bytemuck::Pod>(&self) -> Option<&[T]> {
        bytemuck::try_cast_slice(self.bytes()).ok()
    }

    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is there no data?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Is it the very same memory?
    pub fn shares(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.block, &other.block)
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}
