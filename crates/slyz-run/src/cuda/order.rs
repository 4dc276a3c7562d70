//! Who comes before whom at an array that several streams have to do with.
//!
//! One stream has written an array; others may read it once they have waited for that one, which they do once. Who writes it next waits for
//! all of them, and so does who frees it. An array of one stream costs nothing.
//!
//! Buffers see to the rest: what somebody else may still give to a stream has an owner, and nobody writes to what has two.

/// The streams that have to do with an array.
#[derive(Debug)]
pub(super) struct Order<S> {
    /// Who has written it last, or made it.
    writer: S,
    /// Who else has waited for that, and may have read it since.
    readers: Vec<S>,
}

impl<S: Clone + PartialEq> Order<S> {
    pub(super) fn new(writer: S) -> Order<S> {
        Order { writer, readers: vec![] }
    }

    /// In whose order it is read by the host, and freed.
    pub(super) fn writer(&self) -> &S {
        &self.writer
    }

    /// Who else may read it still.
    pub(super) fn readers(&self) -> &[S] {
        &self.readers
    }

    /// A stream is about to read it. `wait` makes that one wait for another.
    pub(super) fn read<E>(&mut self, by: &S, wait: impl Fn(&S) -> Result<(), E>) -> Result<(), E> {
        if *by != self.writer && !self.readers.contains(by) {
            wait(&self.writer)?;
            self.readers.push(by.clone());
        }
        Ok(())
    }

    /// A stream is about to write to it.
    pub(super) fn write<E>(&mut self, by: &S, wait: impl Fn(&S) -> Result<(), E>) -> Result<(), E> {
        // The writer may have read it since, too.
        let others = self.readers.iter().chain([&self.writer]);
        others.filter(|other| *other != by).try_for_each(wait)?;
        self.readers.clear();
        self.writer = by.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Whom a stream waits for.
    fn waited(act: impl FnOnce(&dyn Fn(&u32) -> Result<(), ()>) -> Result<(), ()>) -> Vec<u32> {
        let list = RefCell::new(vec![]);
        act(&|stream: &u32| {
            list.borrow_mut().push(*stream);
            Ok(())
        })
        .unwrap();
        list.into_inner()
    }

    #[test]
    fn one_stream_waits_for_nobody() {
        let mut order = Order::new(0);
        assert_eq!(waited(|wait| order.read(&0, wait)), []);
        assert_eq!(waited(|wait| order.write(&0, wait)), []);
    }

    #[test]
    fn readers_wait_once_for_the_writer_and_not_for_each_other() {
        let mut order = Order::new(0);
        assert_eq!(waited(|wait| order.read(&1, wait)), [0]);
        assert_eq!(waited(|wait| order.read(&1, wait)), []);
        assert_eq!(waited(|wait| order.read(&2, wait)), [0]);
        assert_eq!(waited(|wait| order.read(&0, wait)), []);
    }

    #[test]
    fn a_writer_waits_for_all_others() {
        let mut order = Order::new(0);
        waited(|wait| order.read(&1, wait));
        waited(|wait| order.read(&2, wait));
        assert_eq!(waited(|wait| order.write(&3, wait)), [1, 2, 0]);
        assert_eq!((*order.writer(), order.readers.len()), (3, 0));
        // Who has read what was there before waits again.
        assert_eq!(waited(|wait| order.read(&1, wait)), [3]);
        assert_eq!(waited(|wait| order.write(&1, wait)), [3], "which may have read it since");
        waited(|wait| order.read(&2, wait));
        assert_eq!(waited(|wait| order.write(&1, wait)), [2], "its own order is its own");
    }

    #[test]
    fn a_failure_is_forgotten() {
        let mut order = Order::new(0);
        assert_eq!(order.read(&1, |_| Err("lost")), Err("lost"));
        assert_eq!(waited(|wait| order.read(&1, wait)), [0]);
        assert_eq!(order.write(&2, |_| Err("lost")), Err("lost"));
        assert_eq!(*order.writer(), 0);
    }
}
