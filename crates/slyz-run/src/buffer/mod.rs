//! Memory with data in it, shared by counting references and copied by whoever writes to what others see.

pub(crate) mod later;

use crate::{Block, Error, Pool};
use later::Later;
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Memory that is not the host's: what a device keeps of an array.
///
/// Data is written by commands that were given to the device before anybody asks for it; [`DeviceMemory::read`] waits for
/// them.
pub trait DeviceMemory: Any + Send + Sync {
    /// The name of the device.
    fn device(&self) -> &str;

    /// Fills the host's bytes with those of the memory from `start` on, all of which it has, and waits for them if need be.
    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error>;
}

/// Data of the host or of a device. Cloning shares it; the memory goes back to its pool with the last clone.
///
/// ```
/// let buffer = slyz_run::Buffer::copy_of(&1.5f32.to_ne_bytes())?;
/// assert_eq!(buffer.as_slice::<f32>(), Some(&[1.5][..]));
/// # Ok::<(), slyz_run::Error>(())
/// ```
#[derive(Clone)]
pub struct Buffer {
    place: Place,
    len: usize,
}

#[derive(Clone)]
enum Place {
    Host(Arc<Block>),
    Device(Arc<Remote>),
    /// Nowhere, before somebody asks for it.
    Later(Arc<Later>),
}

/// Memory of a device, and the host's copy of it once somebody has read it.
struct Remote {
    memory: Arc<dyn DeviceMemory>,
    copy: OnceLock<Arc<Block>>,
    /// Held by whoever makes the copy.
    reading: Mutex<()>,
}

impl Remote {
    fn new(memory: Arc<dyn DeviceMemory>) -> Arc<Remote> {
        Arc::new(Remote { memory, copy: OnceLock::new(), reading: Mutex::new(()) })
    }

    fn copy(&self, len: usize) -> Result<&Arc<Block>, Error> {
        if let Some(block) = self.copy.get() {
            return Ok(block);
        }
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = self.copy.get() {
            return Ok(block);
        }
        let mut block = Pool::global().take(len, &"the host's copy of an array")?;
        self.memory.read(0, &mut block.bytes_mut()[..len])?;
        Ok(self.copy.get_or_init(|| Arc::new(block)))
    }
}

impl Buffer {
    /// New memory of the host holding a copy of the bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<Buffer, Error> {
        let mut block = Pool::global().take(bytes.len(), &"a copy of an array")?;
        block.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(Buffer::new(block, bytes.len()))
    }

    /// New memory of the host that is zeros. It costs nothing before it is touched.
    ///
    /// ```
    /// assert_eq!(slyz_run::Buffer::zeroed(3)?.bytes()?, [0, 0, 0]);
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    pub fn zeroed(bytes: usize) -> Result<Buffer, Error> {
        match Block::zeroed(bytes) {
            Some(block) => Ok(Buffer::new(block, bytes)),
            None if bytes == 0 => Buffer::copy_of(&[]),
            None => Err(Error::OutOfMemory { what: "an array of zeros".to_string(), bytes: bytes as u64 }),
        }
    }

    /// The memory of a list, without a copy of its elements. It starts where they may start, which is enough for every device: generated
    /// code moves whole vectors by accesses that need no alignment, and none goes past the end of an array.
    ///
    /// ```
    /// let data = vec![1u32, 2];
    /// let start = data.as_ptr();
    /// let buffer = slyz_run::Buffer::from_vec(data)?;
    /// assert_eq!(buffer.as_slice::<u32>().map(<[u32]>::as_ptr), Some(start));
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    pub fn from_vec<T: bytemuck::NoUninit>(data: Vec<T>) -> Result<Buffer, Error> {
        let len = size_of_val(&data[..]);
        match Block::of_vec(data) {
            Some(block) => Ok(Buffer::new(block, len)),
            None => Buffer::copy_of(&[]),
        }
    }

    /// The first `len` bytes of a block.
    pub(crate) fn new(block: Block, len: usize) -> Buffer {
        debug_assert!(len <= block.bytes().len());
        Buffer { place: Place::Host(Arc::new(block)), len }
    }

    /// The first `len` bytes of a block that somebody else owns.
    pub(crate) fn lent(block: Block, len: usize) -> Buffer {
        Buffer::new(block, len)
    }

    /// The `len` bytes of a result that is computed when somebody asks for it.
    #[cfg_attr(
        not(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")),
        allow(dead_code)
    )]
    pub(crate) fn later(later: Arc<Later>, len: usize) -> Buffer {
        Buffer { place: Place::Later(later), len }
    }

    /// The promise that it is, as long as nobody has asked for it.
    #[cfg_attr(
        not(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")),
        allow(dead_code)
    )]
    pub(crate) fn promise(&self) -> Option<&Arc<Later>> {
        match &self.place {
            Place::Later(later) if later.waits() => Some(later),
            Place::Host(_) | Place::Device(_) | Place::Later(_) => None,
        }
    }

    /// Computes what is still a promise. A buffer that is changed is none.
    fn settle(&mut self) -> Result<(), Error> {
        if let Place::Later(later) = &self.place {
            self.place = later.get()?.prefix(self.len).place;
        }
        Ok(())
    }

    /// Where it is by now.
    fn place(&self) -> &Place {
        match &self.place {
            Place::Later(later) => later.now().map_or(&self.place, |buffer| &buffer.place),
            place => place,
        }
    }

    /// The first `len` bytes of memory of a device, which has at least as many.
    pub fn on_device(memory: Arc<dyn DeviceMemory>, len: usize) -> Buffer {
        Buffer { place: Place::Device(Remote::new(memory)), len }
    }

    /// The same memory, of which at most the first `len` bytes are seen.
    pub fn prefix(&self, len: usize) -> Buffer {
        let len = len.min(self.len);
        let place = match &self.place {
            // The host's copy is of what is seen, which may be far less.
            Place::Device(remote) if len < self.len => Place::Device(Remote::new(remote.memory.clone())),
            place => place.clone(),
        };
        Buffer { place, len }
    }

    /// The data, in the byte order of the host. What a device has is waited for and copied at the first time; all clones
    /// share the copy.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        let block = match &self.place {
            Place::Host(block) => block,
            Place::Device(remote) => remote.copy(self.len)?,
            Place::Later(later) => return Ok(&later.get()?.bytes()?[..self.len]),
        };
        Ok(&block.bytes()[..self.len])
    }

    /// Copies the data, or as much of it as there is room for. What a device has is waited for; no copy of it is kept.
    ///
    /// ```
    /// let mut into = [0; 2];
    /// slyz_run::Buffer::copy_of(&[1, 2, 3])?.read(&mut into)?;
    /// assert_eq!(into, [1, 2]);
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    pub fn read(&self, into: &mut [u8]) -> Result<(), Error> {
        self.read_at(0, into)
    }

    /// The same from a byte on. From a device nothing else travels.
    ///
    /// ```
    /// let mut into = [0; 2];
    /// slyz_run::Buffer::copy_of(&[1, 2, 3])?.read_at(1, &mut into)?;
    /// assert_eq!(into, [2, 3]);
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    pub fn read_at(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        let start = start.min(self.len);
        let count = into.len().min(self.len - start);
        let into = &mut into[..count];
        let block = match &self.place {
            Place::Host(block) => block,
            Place::Device(remote) => match remote.copy.get() {
                Some(block) => block,
                None => return remote.memory.read(start, into),
            },
            Place::Later(later) => return later.get()?.read_at(start, into),
        };
        into.copy_from_slice(&block.bytes()[start..start + count]);
        Ok(())
    }

    /// The data, to be changed in place. What somebody else sees, too, is copied first, and what a device has comes to the host:
    /// the buffer is memory of the host and nobody else's from here on.
    ///
    /// ```
    /// let mut buffer = slyz_run::Buffer::copy_of(&[1, 2])?;
    /// let before = buffer.clone();
    /// buffer.bytes_mut()?[0] = 7;
    /// assert_eq!((buffer.bytes()?, before.bytes()?), (&[7, 2][..], &[1, 2][..]));
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    pub fn bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        self.settle()?;
        let len = self.len;
        if let Place::Device(remote) = &self.place {
            // With the last clone of the buffer its copy on the host becomes ours alone.
            self.place = Place::Host(remote.copy(len)?.clone());
        }
        if let Place::Host(block) = &mut self.place
            && Arc::get_mut(block).is_none_or(|block| block.is_lent())
        {
            let mut own = Pool::global().take(len, &"a copy of an array that is written")?;
            own.bytes_mut()[..len].copy_from_slice(&block.bytes()[..len]);
            *block = Arc::new(own);
        }
        match &mut self.place {
            Place::Host(block) => match Arc::get_mut(block) {
                Some(block) => Ok(&mut block.bytes_mut()[..len]),
                None => unreachable!("a block that was just made has no second owner"),
            },
            Place::Device(_) | Place::Later(_) => unreachable!("the data was fetched above"),
        }
    }

    /// Is it memory that nobody else sees, and nobody lent?
    pub(crate) fn is_alone(&mut self) -> bool {
        if self.settle().is_err() {
            return false;
        }
        match &mut self.place {
            Place::Later(_) => false,
            Place::Host(block) => Arc::get_mut(block).is_some_and(|block| !block.is_lent()),
            Place::Device(remote) => {
                Arc::get_mut(remote).is_some_and(|remote| Arc::get_mut(&mut remote.memory).is_some())
            }
        }
    }

    /// Is it memory of the host in which a result is as well off as in the pool's?
    #[cfg_attr(not(feature = "cpu"), allow(dead_code))]
    pub(crate) fn suits_results(&self) -> bool {
        matches!(self.place(), Place::Host(block) if block.is_as_of_a_pool())
    }

    /// The memory of a device, if it is of that kind and nobody else sees it: to be written in place, by commands that are given
    /// before the buffer is read again. A copy on the host is forgotten.
    pub fn own_device_memory<M: DeviceMemory>(&mut self) -> Option<Arc<M>> {
        // Whoever reads it next hears of an error.
        self.settle().ok()?;
        let Place::Device(remote) = &mut self.place else { return None };
        let remote = Arc::get_mut(remote)?;
        Arc::get_mut(&mut remote.memory)?;
        let any: Arc<dyn Any + Send + Sync> = remote.memory.clone();
        let memory = any.downcast().ok()?;
        remote.copy = OnceLock::new();
        Some(memory)
    }

    /// The data as elements, or `None` when the bytes are not a whole number of them or a device does not hand them out;
    /// [`Buffer::bytes`] says why.
    pub fn as_slice<T: bytemuck::Pod>(&self) -> Option<&[T]> {
        bytemuck::try_cast_slice(self.bytes().ok()?).ok()
    }

    /// The same data in memory of the host. A device's is waited for.
    pub fn to_host(&self) -> Result<Buffer, Error> {
        let block = match &self.place {
            Place::Host(block) => block.clone(),
            Place::Device(remote) => remote.copy(self.len)?.clone(),
            Place::Later(later) => return Ok(later.get()?.to_host()?.prefix(self.len)),
        };
        Ok(Buffer { place: Place::Host(block), len: self.len })
    }

    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is there no data?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Is it memory of the host?
    pub fn is_host(&self) -> bool {
        self.device().is_none()
    }

    /// The name of the device whose memory it is, or `None` for the host's.
    pub fn device(&self) -> Option<&str> {
        match self.place() {
            Place::Host(_) => None,
            Place::Device(remote) => Some(remote.memory.device()),
            Place::Later(later) => later.device,
        }
    }

    /// The memory of a device, if it is of that kind.
    pub fn device_memory<M: DeviceMemory>(&self) -> Option<Arc<M>> {
        match &self.place {
            Place::Host(_) => None,
            Place::Device(remote) => {
                let any: Arc<dyn Any + Send + Sync> = remote.memory.clone();
                any.downcast().ok()
            }
            Place::Later(later) => later.get().ok()?.device_memory(),
        }
    }

    /// Is it the very same memory?
    pub fn shares(&self, other: &Buffer) -> bool {
        match (self.place(), other.place()) {
            (Place::Host(a), Place::Host(b)) => Arc::ptr_eq(a, b),
            (Place::Device(a), Place::Device(b)) => Arc::ptr_eq(&a.memory, &b.memory),
            (Place::Later(a), Place::Later(b)) => Arc::ptr_eq(a, b),
            (Place::Host(_) | Place::Device(_) | Place::Later(_), _) => false,
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.device() {
            None => write!(f, "Buffer({} bytes)", self.len),
            Some(device) => write!(f, "Buffer({} bytes on {device})", self.len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn shared<T: Send + Sync>() {}

    struct Counting(AtomicUsize);

    impl DeviceMemory for Counting {
        fn device(&self) -> &str {
            "test"
        }

        fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
            if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
                return Err(Error::Load { why: "the first time".to_string() });
            }
            into.iter_mut().zip(1 + start as u8..).for_each(|(to, k)| *to = k);
            Ok(())
        }
    }

    #[test]
    fn writers_copy_what_others_see() {
        let mut buffer = Buffer::copy_of(&[1, 2, 3]).unwrap();
        let start = buffer.bytes().unwrap().as_ptr();
        buffer.bytes_mut().unwrap()[0] = 9;
        assert_eq!(buffer.bytes().unwrap().as_ptr(), start, "alone it is written in place");
        let clone = buffer.clone();
        let part = buffer.prefix(1);
        buffer.bytes_mut().unwrap()[0] = 8;
        assert_eq!((clone.bytes().unwrap(), part.bytes().unwrap()), (&[9, 2, 3][..], &[9][..]));
        assert_eq!(buffer.bytes().unwrap(), [8, 2, 3]);
    }

    #[test]
    fn lists_become_buffers_where_they_are() {
        let data = vec![1u64, 2, 3];
        let start = data.as_ptr().cast::<u8>();
        let mut buffer = Buffer::from_vec(data).unwrap();
        assert_eq!((buffer.bytes().unwrap().as_ptr(), buffer.len()), (start, 24));
        buffer.bytes_mut().unwrap()[0] = 7;
        assert_eq!(buffer.bytes().unwrap().as_ptr(), start, "alone it is written in place");
        assert_eq!(buffer.as_slice::<u64>().unwrap()[1..], [2, 3]);
        let mut short = Vec::with_capacity(1000);
        short.push(5u8);
        assert_eq!(Buffer::from_vec(short).unwrap().bytes().unwrap(), [5], "what is reserved and empty is nobody's");
        assert!(Buffer::from_vec(Vec::<f32>::new()).unwrap().is_empty());
        assert!(Buffer::from_vec(Vec::<f32>::with_capacity(9)).unwrap().is_empty());
    }

    #[test]
    fn parts_are_read_alone() {
        let memory = Arc::new(Counting(AtomicUsize::new(1)));
        let mut part = [0; 2];
        let buffer = Buffer::on_device(memory.clone(), 4);
        buffer.read_at(1, &mut part).unwrap();
        assert_eq!(part, [2, 3]);
        buffer.read_at(3, &mut part).unwrap();
        assert_eq!(part, [4, 3], "there is one byte left");
        buffer.read_at(9, &mut part).unwrap();
        assert_eq!((part, memory.0.load(Ordering::SeqCst)), ([4, 3], 4));
        buffer.bytes().unwrap();
        buffer.read_at(2, &mut part).unwrap();
        assert_eq!((part, memory.0.load(Ordering::SeqCst)), ([3, 4], 5), "the copy on the host is read from then on");
    }

    #[test]
    fn memory_of_a_device_is_written_by_its_only_owner() {
        let mut buffer = Buffer::on_device(Arc::new(Counting(AtomicUsize::new(1))), 2);
        assert_eq!(buffer.bytes().unwrap(), [1, 2]);
        let clone = buffer.clone();
        let part = buffer.prefix(1);
        assert!(buffer.own_device_memory::<Counting>().is_none(), "a clone sees it");
        drop(clone);
        assert!(buffer.own_device_memory::<Counting>().is_none(), "so does a part of it");
        drop(part);
        let memory = buffer.own_device_memory::<Counting>().unwrap();
        assert_eq!(buffer.bytes().unwrap(), [1, 2]);
        assert_eq!(memory.0.load(Ordering::SeqCst), 3, "the copy was forgotten");
        drop(memory);
        buffer.bytes_mut().unwrap()[1] = 5;
        assert_eq!((buffer.bytes().unwrap(), buffer.is_host()), (&[1, 5][..], true));
    }

    #[test]
    fn a_device_is_read_once() {
        shared::<Buffer>();
        let memory = Arc::new(Counting(AtomicUsize::new(0)));
        let buffer = Buffer::on_device(memory.clone(), 4);
        assert!(buffer.bytes().is_err(), "a failure is told");
        assert_eq!(buffer.bytes().unwrap(), [1, 2, 3, 4], "and not kept");
        let clone = buffer.clone();
        let host = buffer.to_host().unwrap();
        assert_eq!(clone.bytes().unwrap(), host.bytes().unwrap());
        assert_eq!(memory.0.load(Ordering::SeqCst), 2);
        assert_eq!((buffer.device(), host.device(), host.is_host()), (Some("test"), None, true));
        let part = buffer.prefix(2);
        assert_eq!(part.bytes().unwrap(), [1, 2]);
        assert!(part.shares(&buffer) && !host.shares(&buffer));
        assert!(buffer.device_memory::<Counting>().is_some());
    }
}
