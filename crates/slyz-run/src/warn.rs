//! Things the user should hear once, on standard error, while the call goes on.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Prints the message unless one was printed for the same key. Says whether it did.
pub(crate) fn warn_once(key: &str, message: &str) -> bool {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = said.get_or_insert_with(HashSet::new).insert(key.to_string());
    if fresh {
        eprintln!("slyz: {message}");
    }
    fresh
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_is_said_once() {
        assert!(super::warn_once("test of warn_once", "this line is part of a test"));
        assert!(!super::warn_once("test of warn_once", "this line must not appear"));
    }
}
