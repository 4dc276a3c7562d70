//! Is a shared object all there?
//!
//! The loader maps what the headers of an object promise. Where the file ends before that, the first touch is the end of the
//! process (SIGBUS), not an error, so headers are held against the file before it is loaded. What is no ELF object at all the
//! loader refuses by itself.

/// Bytes of a header that says where a segment is, for 32 and 64 bits.
const SEGMENT: [usize; 2] = [32, 56];
/// The kind of segment that is loaded.
const LOAD: u64 = 1;

/// Why the object cannot be loaded, if the file is shorter than its headers say.
pub(super) fn check(object: &[u8]) -> Result<(), String> {
    let Some(header) = Header::read(object) else { return Ok(()) };
    match header.end(object) {
        Some(end) if end <= object.len() as u64 => Ok(()),
        Some(end) => Err(format!("the file is cut short: it has {} bytes of {end}", object.len())),
        None => {
            Err(format!("the file is cut short: it has {} bytes, and its table of segments is missing", object.len()))
        }
    }
}

/// How to read an ELF object.
struct Header {
    /// 0 for 32 bits, 1 for 64.
    class: usize,
    little: bool,
}

impl Header {
    fn read(object: &[u8]) -> Option<Header> {
        let [0x7f, b'E', b'L', b'F', class @ (1 | 2), order @ (1 | 2), ..] = *object else { return None };
        Some(Header { class: usize::from(class) - 1, little: order == 1 })
    }

    /// Where the last segment ends that is loaded; `None` when the file does not say.
    fn end(&self, object: &[u8]) -> Option<u64> {
        let word = [4, 8][self.class];
        let table = self.number(object, [28, 32][self.class], word)?;
        let entry = self.number(object, [42, 54][self.class], 2)?;
        let count = self.number(object, [44, 56][self.class], 2)?;
        if (entry as usize) < SEGMENT[self.class] {
            return None;
        }
        let mut end = 0;
        for k in 0..count {
            let start = usize::try_from(table.checked_add(k * entry)?).ok()?;
            // The whole entry must be there, read or not.
            object.get(start..start.checked_add(entry as usize)?)?;
            if self.number(object, start, 4)? == LOAD {
                let offset = self.number(object, start + [4, 8][self.class], word)?;
                let bytes = self.number(object, start + [16, 32][self.class], word)?;
                end = end.max(offset.checked_add(bytes)?);
            }
        }
        Some(end)
    }

    fn number(&self, object: &[u8], at: usize, bytes: usize) -> Option<u64> {
        let bytes = object.get(at..at.checked_add(bytes)?)?;
        let digit = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        Some(if self.little { bytes.iter().rev().fold(0, digit) } else { bytes.iter().fold(0, digit) })
    }
}
