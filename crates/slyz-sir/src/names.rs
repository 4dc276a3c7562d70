//! What people called values. It is for readers of what is written from the code: kernels that differ in nothing else are equal.

use crate::code::Id;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Names of values, as far as somebody gave them one.
///
/// ```
/// use slyz_sir::{code::Id, names::Names};
/// let mut names = Names::default();
/// names.note(Id(3), "row");
/// names.note(Id(3), "again");
/// assert_eq!((names.get(Id(3)), names.get(Id(4))), (Some("row"), None));
/// assert_eq!(names, Names::default());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<Id, String>);

impl Names {
    /// Keeps a name, unless the value has one.
    pub fn note(&mut self, id: Id, name: &str) {
        self.0.entry(id).or_insert_with(|| name.to_string());
    }

    /// The name of a value.
    pub fn get(&self, id: Id) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    /// The same, where it is of letters alone, so that a number behind it gives no other name.
    pub fn letters(&self, id: Id) -> Option<&str> {
        self.get(id).filter(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic()))
    }
}

impl PartialEq for Names {
    fn eq(&self, _: &Names) -> bool {
        true
    }
}

impl Eq for Names {}

impl Hash for Names {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
