//! Tensors by `serde`: a struct `Tensor` of `shape` and `elements`, in row-major order. Complex numbers are pairs.

use super::{Tensor, TensorShape};
use crate::complex::Complex;
use crate::elem::Elem;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

const NAME: &str = "Tensor";
const SHAPE: &str = "shape";
const ELEMENTS: &str = "elements";

/// With the feature `serde`: `{"shape":[1,2],"elements":[3,4]}` in JSON. A device that still works on the elements is waited for.
impl<T: Elem + Serialize, S> Serialize for Tensor<T, S> {
    fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        let mut fields = serializer.serialize_struct(NAME, 2)?;
        fields.serialize_field(SHAPE, self.dims())?;
        match self.as_slice() {
            Ok(elements) => fields.serialize_field(ELEMENTS, elements)?,
            Err(_) => fields.serialize_field(ELEMENTS, &self.to_vec().map_err(W::Error::custom)?)?,
        }
        fields.end()
    }
}

/// With the feature `serde`. As many elements as the shape says, of dimensions that fit the type.
impl<'de, T: Elem + Deserialize<'de>, S: TensorShape> Deserialize<'de> for Tensor<T, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(NAME, &[SHAPE, ELEMENTS], Fields(PhantomData))
    }
}

struct Fields<T, S>(PhantomData<fn() -> (T, S)>);

impl<'de, T: Elem + Deserialize<'de>, S: TensorShape> Visitor<'de> for Fields<T, S> {
    type Value = Tensor<T, S>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a tensor, of `{SHAPE}` and `{ELEMENTS}`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let shape = fields.next_element()?.ok_or_else(|| A::Error::missing_field(SHAPE))?;
        let elements = fields.next_element()?.ok_or_else(|| A::Error::missing_field(ELEMENTS))?;
        Tensor::of(shape, elements).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut shape: Option<Vec<usize>> = None;
        let mut elements: Option<Vec<T>> = None;
        while let Some(name) = fields.next_key::<String>()? {
            match &name[..] {
                SHAPE if shape.is_some() => return Err(A::Error::duplicate_field(SHAPE)),
                ELEMENTS if elements.is_some() => return Err(A::Error::duplicate_field(ELEMENTS)),
                SHAPE => shape = Some(fields.next_value()?),
                ELEMENTS => elements = Some(fields.next_value()?),
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        let shape = shape.ok_or_else(|| A::Error::missing_field(SHAPE))?;
        let elements = elements.ok_or_else(|| A::Error::missing_field(ELEMENTS))?;
        Tensor::of(shape, elements).map_err(A::Error::custom)
    }
}

impl<T: Serialize> Serialize for Complex<T> {
    fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        (&self.re, &self.im).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Complex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (re, im) = Deserialize::deserialize(deserializer)?;
        Ok(Complex { re, im })
    }
}
