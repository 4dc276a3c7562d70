//! The threads of a launch within the limits of a device, and what is said of those that cannot be laid out.

use crate::Error;
use slyz_sir::threads::{Field, Unlaid};

/// Checks that a device has blocks of so many threads, each dimension and all together.
pub(crate) fn check_block(field: &Field, kernel: &str, most: [u32; 3], together: u32) -> Result<(), Error> {
    let fits = (0..3).all(|d| field.block[d] <= most[d]) && field.block_threads() <= u64::from(together);
    if fits {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: format!("the block {} of kernel `{kernel}`", list(&field.block)),
        why: format!("a block has at most {together} threads here, and no more than {} in x, y, z", list(&most)),
    })
}

/// The error of a launch whose threads cannot be laid out.
pub(crate) fn unlaid(error: Unlaid) -> Error {
    let (kernel, why) = match error {
        Unlaid::EmptyBlock { kernel, block } => {
            let block = list(&block);
            (kernel, format!("a block of {block} has no threads; ask for 1 or more in each dimension"))
        }
        Unlaid::TooMany { kernel, numbers } => {
            let numbers = list(&numbers);
            let why = format!("{numbers} are more than 2^48 in one dimension, or 2^63 - 1 together; ask for fewer");
            (kernel, why)
        }
        Unlaid::Part { kernel, threads, block } => {
            let why = format!(
                "{} is not a whole number of blocks of {}, and the kernel has barriers, shared memory or reads its place in a \
                 block; say how many blocks of how many threads: `grid` and `block`",
                list(&threads),
                list(&block)
            );
            (kernel, why)
        }
        Unlaid::Blocks { kernel } => {
            let why = "the kernel has barriers, shared memory or reads its place in a block, so nobody can guess them; say how many \
                       blocks of how many threads: `grid` and `block`";
            (kernel, why.to_string())
        }
        Unlaid::Nothing { kernel } => {
            let why = "the kernel writes to no tensor, so nothing tells how many; say it with `threads`";
            (kernel, why.to_string())
        }
        Unlaid::Axes { kernel, memory, shape, axes } => {
            let shape = list(&shape);
            let why = format!(
                "the kernel reads {axes} coordinates, and `{memory}`, which it writes, has the shape {shape}; say how many threads: \
                 `threads` with {axes} numbers, or `grid` and `block`"
            );
            (kernel, why)
        }
    };
    Error::Threads { kernel, why }
}

fn list<T: std::fmt::Display>(numbers: &[T]) -> String {
    format!("({})", numbers.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyz_sir::threads::{Nature, Threads};

    #[test]
    fn limits_of_devices() {
        let nature = Nature { axes: 1, free: true };
        let threads = Threads::Blocks { grid: [1, 1, 1], block: [32, 32, 2] };
        let field = Field::new("k", nature, threads, None).unwrap();
        assert!(check_block(&field, "k", [1024, 1024, 64], 2048).is_ok());
        let wrong = check_block(&field, "k", [1024, 1024, 64], 1024).unwrap_err();
        assert!(wrong.to_string().contains("1024 threads here"));
        assert!(check_block(&field, "k", [1024, 1024, 1], 2048).is_err());
    }

    #[test]
    fn remedies() {
        let said = |threads: Threads, free: bool, shape: &[u64]| {
            let laid = Field::new("k", Nature { axes: 2, free }, threads, Some(("out", shape)));
            unlaid(laid.unwrap_err()).to_string()
        };
        assert!(said(Threads::Inferred, true, &[15]).contains("`threads` with 2 numbers"));
        assert!(said(Threads::Inferred, true, &[1 << 40, 1 << 40]).contains("2^63"));
        assert!(said(Threads::Exact([500, 1, 1]), false, &[]).contains("`grid` and `block`"));
    }
}
