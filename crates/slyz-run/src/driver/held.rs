//! Arrays in the memory of a device that copies what others have: where a buffer is already, and when it is copied.

use crate::{ArrayData, Buffer, DeviceMemory, Error};
use std::fmt::Display;
use std::sync::Arc;

/// An array of a device, as buffers hold it.
pub(crate) trait Held: DeviceMemory + Sized + 'static {
    /// The device at work.
    type Opened;

    /// The array that a buffer is, if it is one of that device.
    fn of(buffer: &Buffer, opened: &Arc<Self::Opened>) -> Option<Arc<Self>>;

    /// Memory with a copy of the host's bytes.
    fn upload(opened: &Arc<Self::Opened>, data: &[u8], what: &dyn Display) -> Result<Self, Error>;

    /// A copy of the first bytes, in the order of the device's work.
    fn copied(&self, opened: &Arc<Self::Opened>, bytes: usize, what: &dyn Display) -> Result<Self, Error>;

    /// What the device is given from now on may read it, though another stream has written it.
    fn before_read(&self, _: &Arc<Self::Opened>) -> Result<(), Error> {
        Ok(())
    }

    /// What the device is given from now on may write to it, though another stream has read it.
    fn before_write(&self, _: &Arc<Self::Opened>) -> Result<(), Error> {
        Ok(())
    }

    /// Is it somebody else's? Then nobody writes to it.
    fn is_lent(&self) -> bool {
        false
    }
}

/// Data to be read, where it is or in a copy.
pub(crate) fn to_read<A: Held>(
    opened: &Arc<A::Opened>,
    data: ArrayData<'_>,
    what: &dyn Display,
) -> Result<Arc<A>, Error> {
    let here = match data {
        ArrayData::Buffer(buffer) => A::of(buffer, opened),
        ArrayData::Host(_) => None,
    };
    match here {
        Some(array) => {
            array.before_read(opened)?;
            Ok(array)
        }
        None => Ok(Arc::new(A::upload(opened, data.bytes()?, what)?)),
    }
}

/// Data to be written, which nobody else sees; where that is a copy, with the buffer that takes its place.
pub(crate) fn to_write<A: Held>(
    opened: &Arc<A::Opened>,
    data: &mut Buffer,
    what: &dyn Display,
) -> Result<(Arc<A>, Option<Buffer>), Error> {
    // Nobody else may have it while it is asked for alone.
    let is_ours = A::of(data, opened).is_some_and(|array| !array.is_lent());
    if is_ours && let Some(own) = data.own_device_memory::<A>() {
        own.before_write(opened)?;
        return Ok((own, None));
    }
    let to = match A::of(data, opened) {
        // Somebody else sees it.
        Some(from) => {
            from.before_read(opened)?;
            from.copied(opened, data.len(), what)?
        }
        None => A::upload(opened, data.bytes()?, what)?,
    };
    let to = Arc::new(to);
    let buffer = Buffer::on_device(to.clone(), data.len());
    Ok((to, Some(buffer)))
}
