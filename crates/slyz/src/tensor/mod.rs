//! Tensors: data on a device, with a shape in its type.

#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "image")]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "npy")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
mod print;
#[cfg(feature = "safetensors")]
mod safetensors;
#[cfg(feature = "serde")]
mod serde;
#[cfg(any(feature = "npy", feature = "safetensors"))]
mod stored;

#[cfg(feature = "npz")]
pub use npz::{NpzReader, NpzWriter};
#[cfg(feature = "safetensors")]
pub use safetensors::{SafeTensors, SafeTensorsWriter};

use crate::arr::Arr;
use crate::below::{Below, Known};
use crate::elem::{Elem, Num, Value, parts_of, tys_of};
use crate::error::{Error, TensorError};
use crate::extent::count;
use crate::feed::{Fed, Feed, scalar_at, solve_dims, split};
use crate::shape::Shape;
use crate::trace::Slot;
use slyz_run::dlpack::{self, Borrowed, Lent};
use slyz_run::{ArrayData, Buffer, Device};
use slyz_sir::types::{Scalar, Ty};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use std::sync::Arc;

/// The shape of a tensor whose axes are not known to the type system.
///
/// ```
/// use slyz::prelude::*;
/// let t: Tensor<f32> = Tensor::from_vec([2, 1], vec![1.0, 2.0])?; // a Tensor<f32, Dyn>
/// assert_eq!(t.dims(), [2, 1]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dyn {}

/// Shapes of tensors: every [`Shape`], and [`Dyn`].
///
/// ```
/// use slyz::prelude::*;
/// fn rows<T: Elem, S: slyz::TensorShape>(t: &Tensor<T, S>) -> Option<&usize> { t.dims().first() }
/// ```
pub trait TensorShape: 'static {
    /// Do the dimensions fit? If not, the shape and why.
    #[doc(hidden)]
    fn check(dims: &[usize]) -> Result<(), TensorError>;
}

impl<S: Shape> TensorShape for S {
    fn check(dims: &[usize]) -> Result<(), TensorError> {
        let slot = Slot { argument: 1, field: String::new(), axes: S::axes(), names: S::names(), leaves: vec![] };
        check_dims(slot, dims)
    }
}

impl TensorShape for Dyn {
    fn check(_: &[usize]) -> Result<(), TensorError> {
        Ok(())
    }
}

/// Bytes of a device's array that are read into their goal, without a copy on the host that is kept.
const LARGE: usize = 1 << 20;

/// Bytes of a device's array that all travel where one of them is asked for: it takes no longer, and the copy is kept.
const SMALL: usize = 4 << 10;

fn compound() -> Error {
    let why = "its elements have several parts, which stand in arrays of their own".to_string();
    slyz_run::Error::NotLent { why }.into()
}

fn count_of(dims: &[usize]) -> Option<u64> {
    count(dims.iter().map(|&dim| dim as u64))
}

fn check_dims(slot: Slot, dims: &[usize]) -> Result<(), TensorError> {
    let shape = format!("({})", slot.names.join(", "));
    let wrong = |why: String| Err(TensorError::Shape { dims: dims.to_vec(), shape: shape.clone(), why });
    if dims.len() != slot.axes.len() {
        return wrong(format!("{} dimensions, {} axes", dims.len(), slot.axes.len()));
    }
    use crate::error::CallError::{Disagree, Unknown, Wrong};
    let dims64: Vec<u64> = dims.iter().map(|&dim| dim as u64).collect();
    match solve_dims(&slot, &dims64) {
        // An extent like `min(N, M)` leaves its axes open, and any value will do.
        Ok(_) | Err(Unknown { .. }) => Ok(()),
        Err(Disagree { axis, known, found, .. }) => wrong(format!("axis {axis} is {known} and {found}")),
        Err(Wrong { axis, known, found, .. }) => wrong(format!("axis {axis} has {known} positions, not {found}")),
        Err(other) => wrong(other.to_string()),
    }
}

/// Data on a device, of known dimensions. Cloning shares the data.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let t = Tensor::<f32, (N, M)>::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let f = compile(|x: Arr<f32, (N, M)>| x.transpose())?;
/// let u = f.call(&t)?; // Tensor<f32, (M, N)>
/// assert_eq!(f.call(&u.rename::<(N, M)>()?)?.to_vec()?, t.to_vec()?);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Tensor<T, S = Dyn> {
    dims: Vec<usize>,
    leaves: Leaves,
    /// What its positions are known to be below.
    below: Below,
    kind: PhantomData<fn() -> (T, S)>,
}

/// The buffers of a tensor: one, unless its elements are compound.
pub(crate) type Leaves = SmallVec<[Buffer; 1]>;

impl<T, S> Clone for Tensor<T, S> {
    fn clone(&self) -> Self {
        let dims = self.dims.clone();
        let leaves = self.leaves.clone();
        let below = self.below.clone();
        Tensor { dims, leaves, below, kind: PhantomData }
    }
}

impl<T: Elem, S: Shape> Feed<Arr<T, S>> for Tensor<T, S> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.array_on_device(self.dims(), self.len(), self.buffers())
    }
}

impl<T: Elem, S: Shape> Feed<Arr<T, S>> for &Tensor<T, S> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        Feed::<Arr<T, S>>::feed(*self, out)
    }
}

impl<T: Elem<Exp = V>, V: Value<Elem = T>> Feed<V> for Tensor<T, ()> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.scalars_on_device(self.buffers())
    }
}

impl<T: Elem<Exp = V>, V: Value<Elem = T>> Feed<V> for &Tensor<T, ()> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        Feed::<V>::feed(*self, out)
    }
}

impl<T: Elem, S> Tensor<T, S> {
    /// From what a call gave back. `below` has a bound of the positions in each leaf, or is empty.
    pub(crate) fn from_leaves(dims: Vec<usize>, leaves: Leaves, below: Vec<u64>) -> Self {
        Tensor { dims, leaves, below: Below::new(below), kind: PhantomData }
    }

    /// The leaves, and what their positions are known to be below.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = (&Buffer, Known<'_>)> {
        let leaves = self.leaves.len();
        let known = (0..leaves).map(move |leaf| Known { below: &self.below, leaf, leaves });
        self.leaves.iter().zip(known)
    }

    /// The leaves and what is known of them, for views.
    pub(crate) fn held(&self) -> (&[Buffer], &Below) {
        (&self.leaves, &self.below)
    }

    /// The leaves, to be written. Nothing is known of the positions in them from here on.
    pub(crate) fn buffers_mut(&mut self) -> &mut [Buffer] {
        self.below = Below::default();
        &mut self.leaves
    }

    /// The extents, outermost first.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<u8>::from_vec([2, 3], vec![0; 6])?.dims(), [2, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of elements.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<u8>::from_vec([2, 3], vec![0; 6])?.len(), 6);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        // It was counted when the tensor was made.
        count_of(&self.dims).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    /// Are there no elements?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert!(Tensor::<u8>::from_vec([2, 0], vec![])?.is_empty());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same data in the memory that a device works in. What is there already is shared; what another device has is
    /// waited for. Calls take tensors from anywhere, so this only chooses when the data travels.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let device = slyz::device("interpreter")?; // or "wgpu", or one of `slyz::devices()`
    /// let f = compile_on(&device, |x: Arr<f32, N>| x * 2.0)?;
    /// let x = Tensor::<f32, N>::from_vec([2], vec![1.0, 2.0])?.to(&device)?;
    /// let y = f.call(&f.call(&x)?)?; // stays on the device
    /// assert_eq!(y.to_vec()?, [4.0, 8.0]); // is waited for and copied
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to(&self, device: &Arc<dyn Device>) -> Result<Tensor<T, S>, Error> {
        let mut leaves = Leaves::new();
        for leaf in &self.leaves {
            let moved = device.upload(ArrayData::Buffer(leaf))?;
            if moved.len() != leaf.len() {
                let expected = leaf.len() as u64;
                let found = moved.len() as u64;
                return Err(TensorError::Moved { device: device.name().to_string(), expected, found }.into());
            }
            leaves.push(moved);
        }
        // A device of somebody's own may give back other data than it was given.
        let below = if slyz_run::is_own_device(&**device) { self.below.clone() } else { Below::default() };
        Ok(Tensor { dims: self.dims.clone(), leaves, below, kind: PhantomData })
    }

    /// Lends the data to another library, without a copy: memory of the host or of CUDA. It stays until the other side gives it
    /// back, which must not write to it.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<f32>::from_vec([2], vec![1.0, 2.0])?;
    /// let lent = x.to_dlpack()?; // into_raw() is the pointer for a `dltensor` capsule
    /// assert_eq!(Tensor::<f32>::from_dlpack(lent)?.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_dlpack(&self) -> Result<Lent, Error> {
        let (&[ty], [leaf]) = (&tys_of::<T>()[..], &self.leaves[..]) else { return Err(compound()) };
        Ok(dlpack::lend(leaf, ty, &self.dims)?)
    }

    /// Takes an array that another library lends, without a copy. What is to be written is copied first.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let lent = Tensor::<u8>::from_vec([2], vec![3, 4])?.to_dlpack()?;
    /// assert!(Tensor::<f32>::from_dlpack(lent).is_err()); // other elements
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_dlpack(lent: Lent) -> Result<Tensor<T, S>, Error>
    where
        S: TensorShape,
    {
        let Borrowed { buffer, ty, dims } = dlpack::borrow(lent)?;
        let tys = tys_of::<T>();
        let &[own] = &tys[..] else { return Err(compound()) };
        if own != ty {
            let why = format!("its elements are {ty}, those of the tensor {own}");
            return Err(slyz_run::Error::NotLent { why }.into());
        }
        S::check(&dims)?;
        Ok(Tensor { dims, leaves: smallvec![buffer], below: Below::default(), kind: PhantomData })
    }

    /// The name of the device whose memory it is: `host` for that of the devices `cpu` and `interpreter`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<u8>::from_vec([2], vec![3, 4])?.device(), "host");
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn device(&self) -> &str {
        self.leaves.first().and_then(Buffer::device).unwrap_or("host")
    }

    /// The elements in row-major order. A device that still works on them is waited for; the host's copy is kept for the
    /// next time, unless it is large.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<u8>::from_vec([2], vec![3, 4])?.to_vec()?, [3, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        if let [leaf] = &self.leaves[..] {
            let fill = &mut |bytes: &mut [u8]| leaf.read(bytes);
            if leaf.len() >= LARGE
                && !leaf.is_host()
                && let Some(data) = T::filled(self.len(), fill)
            {
                return Ok(data?);
            }
            if let Some(data) = T::collect(leaf.bytes()?) {
                return Ok(data);
            }
        }
        let tys = tys_of::<T>();
        let bytes = self.leaves.iter().map(Buffer::bytes).collect::<Result<Vec<&[u8]>, _>>()?;
        Ok(join(&tys, &bytes, self.len()))
    }

    /// The elements where they stand, in row-major order. They have to be in memory of the host, where the devices `cpu` and
    /// `interpreter` leave them, and scalars: the parts of others are stored apart.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let y = compile(|x: Arr<f32, N>| x * 2.0)?.call(&[1.0f32, 2.0])?;
    /// if y.device() == "host" {
    ///     assert_eq!(y.as_slice()?, [2.0, 4.0]);
    /// } else {
    ///     assert!(y.as_slice().unwrap_err().to_string().contains("to_vec"));
    /// }
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn as_slice(&self) -> Result<&[T], Error> {
        let refuse = |why: String| Error::from(TensorError::NoSlice { why });
        let [leaf] = &self.leaves[..] else {
            return Err(refuse("they have several parts, which stand in arrays of their own".to_string()));
        };
        if let Some(device) = leaf.device() {
            return Err(refuse(format!("they are in memory of the device \"{device}\"")));
        }
        let elements = T::slice(leaf.bytes()?);
        elements.ok_or_else(|| refuse("they are stored in another form than that of the host".to_string()))
    }

    /// The element at a position, outermost first. Of a large tensor in memory of a device nothing else is read.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let t = Tensor::<u8>::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(t.get([1, 0])?, 4);
    /// assert!(t.get([2, 0]).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn get<const R: usize>(&self, position: [usize; R]) -> Result<T, Error> {
        let inside = R == self.dims.len() && position.iter().zip(&self.dims).all(|(at, dim)| at < dim);
        if !inside {
            return Err(TensorError::Outside { position: position.to_vec(), dims: self.dims.clone() }.into());
        }
        let place = position.iter().zip(&self.dims).fold(0, |place, (at, dim)| place * dim + at);
        self.element(place)
    }

    /// The element at a place of the row-major order.
    fn element(&self, place: usize) -> Result<T, Error> {
        let missing = || TensorError::Length { dims: self.dims.clone(), expected: 1, found: 0 }.into();
        element_at(&self.leaves, place)?.ok_or_else(missing)
    }

    /// The same data without the names of its axes.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let t = Tensor::<u8, N>::from_vec([2], vec![3, 4])?;
    /// let all: Vec<Tensor<u8>> = vec![t.into_dyn(), Tensor::from_vec([1, 1], vec![5])?];
    /// assert_eq!(all.len(), 2);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn into_dyn(self) -> Tensor<T> {
        Tensor { dims: self.dims, leaves: self.leaves, below: self.below, kind: PhantomData }
    }
}

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// A tensor from its elements in row-major order. Scalars stay where they are; the parts of other elements are copied to arrays of
    /// their own.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let t = Tensor::<f32, (N, Fix<2>)>::from_vec([1, 2], vec![1.0, 2.0])?;
    /// assert_eq!(t.len(), 2);
    /// assert!(Tensor::<f32, (N, Fix<2>)>::from_vec([2, 1], vec![1.0, 2.0]).is_err()); // the second axis has 2
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_vec<const R: usize>(dims: [usize; R], data: Vec<T>) -> Result<Self, Error> {
        Tensor::of(dims.to_vec(), data)
    }

    /// The same, of any number of dimensions.
    fn of(dims: Vec<usize>, data: Vec<T>) -> Result<Self, Error> {
        let Some(expected) = count_of(&dims) else { return Err(TensorError::TooLarge { dims }.into()) };
        if expected != data.len() as u64 {
            return Err(TensorError::Length { dims, expected, found: data.len() as u64 }.into());
        }
        S::check(&dims)?;
        let leaves: Result<Leaves, slyz_run::Error> = match T::buffer(data) {
            Ok(leaf) => leaf.map(|leaf| smallvec![leaf]),
            // Bytes may start anywhere, elements may not.
            Err(data) => split(&data).iter().map(|leaf| Buffer::copy_of(leaf)).collect(),
        };
        Ok(Tensor::from_leaves(dims, leaves?, vec![]))
    }

    /// A tensor whose elements are all the same.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<f32>::filled([2, 2], 1.5)?.to_vec()?, [1.5; 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn filled<const R: usize>(dims: [usize; R], value: T) -> Result<Self, Error> {
        let len = count_of(&dims).and_then(|len| usize::try_from(len).ok());
        let mut data = vec![];
        match len.map(|len| (len, data.try_reserve_exact(len))) {
            Some((len, Ok(()))) => data.resize(len, value),
            Some((_, Err(_))) | None => return Err(TensorError::TooLarge { dims: dims.to_vec() }.into()),
        }
        Tensor::from_vec(dims, data)
    }

    /// The same data under other axis names. Fixed extents, and axes that occur twice, are checked.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let t = Tensor::<f32, N>::from_vec([2], vec![1.0, 2.0])?;
    /// let u: Tensor<f32, M> = t.rename::<M>()?;
    /// assert!(t.rename::<Fix<3>>().is_err());
    /// assert_eq!(u.dims(), [2]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn rename<R: TensorShape>(&self) -> Result<Tensor<T, R>, Error> {
        R::check(&self.dims)?;
        let leaves = self.leaves.clone();
        Ok(Tensor { dims: self.dims.clone(), leaves, below: self.below.clone(), kind: PhantomData })
    }
}

impl<T: Num, S: TensorShape> Tensor<T, S> {
    /// A tensor of zeros.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::<i32>::zeros([2, 1])?.to_vec()?, [0, 0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn zeros<const R: usize>(dims: [usize; R]) -> Result<Self, Error> {
        Tensor::zeroed(dims)
    }
}

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// A tensor of the elements whose bits are zeros.
    pub(crate) fn zeroed<const R: usize>(dims: [usize; R]) -> Result<Self, Error> {
        S::check(&dims)?;
        let too_large = || TensorError::TooLarge { dims: dims.to_vec() };
        let count = count_of(&dims).and_then(|count| usize::try_from(count).ok()).ok_or_else(too_large)?;
        let mut leaves = Leaves::new();
        for ty in tys_of::<T>() {
            let bytes = count.checked_mul(ty.bytes()).ok_or_else(too_large)?;
            // The zero of every number is zeros, and so is `false`.
            leaves.push(Buffer::zeroed(bytes).map_err(|_| too_large())?);
        }
        Ok(Tensor::from_leaves(dims.to_vec(), leaves, vec![]))
    }
}

impl<T: Elem> Tensor<T, ()> {
    /// A tensor without axes, of one element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(Tensor::from_value(0.5f32)?.value()?, 0.5);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_value(value: T) -> Result<Self, Error> {
        Tensor::from_vec([], vec![value])
    }

    /// The one element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// assert_eq!(compile(|x: Arr<f32, N>| x.sum())?.call(&[1.0f32, 2.0])?.value()?, 3.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn value(&self) -> Result<T, Error> {
        self.element(0)
    }
}

impl<T: Elem + PartialEq, S> PartialEq for Tensor<T, S> {
    fn eq(&self, other: &Self) -> bool {
        let data = (self.to_vec(), other.to_vec());
        self.dims == other.dims && matches!(data, (Ok(a), Ok(b)) if a == b)
    }
}

/// Elements whose leaves are stored apart. Some are read at a time, leaf by leaf, so that what a leaf is need not be asked for each.
/// The element at a place of the memory; nothing behind its end. Of much memory of a device nothing else is read.
pub(crate) fn element_at<T: Elem>(leaves: &[Buffer], place: usize) -> Result<Option<T>, Error> {
    let mut scalars = SmallVec::<[Scalar; 4]>::new();
    for (part, leaf) in parts_of::<T>().iter().zip(leaves) {
        let width = part.ty.bytes();
        if place >= leaf.len() / width {
            return Ok(None);
        }
        let scalar = if leaf.is_host() || leaf.len() <= SMALL {
            scalar_at(part.ty, leaf.bytes()?, place)
        } else {
            let mut bytes = [0; size_of::<u64>()];
            leaf.read_at(place * width, &mut bytes[..width])?;
            scalar_at(part.ty, &bytes[..width], 0)
        };
        scalars.extend(scalar);
    }
    let mut scalars = scalars.into_iter();
    Ok(Some(T::load(&mut || scalars.next().unwrap_or(Scalar::bool(false)))))
}

fn join<T: Elem>(tys: &[Ty], leaves: &[&[u8]], len: usize) -> Vec<T> {
    const SOME: usize = 256;
    let nothing = Scalar::bool(false);
    let mut scalars = vec![nothing; SOME * tys.len()];
    let mut elements = Vec::with_capacity(len);
    for start in (0..len).step_by(SOME) {
        for (leaf, (&ty, bytes)) in tys.iter().zip(leaves).enumerate() {
            let bytes = bytes.get(start * ty.bytes()..).unwrap_or_default();
            read_scalars(ty, bytes, scalars[leaf..].iter_mut().step_by(tys.len()));
        }
        let mut next = scalars.iter().copied();
        let load = |_| T::load(&mut || next.next().unwrap_or(nothing));
        elements.extend((0..SOME.min(len - start)).map(load));
    }
    elements
}

/// As many scalars as there are, or as there is room for.
fn read_scalars<'a>(ty: Ty, bytes: &[u8], out: impl Iterator<Item = &'a mut Scalar>) {
    fn each<'a, const WIDTH: usize>(
        ty: Ty,
        bytes: &[u8],
        out: impl Iterator<Item = &'a mut Scalar>,
        bits: impl Fn([u8; WIDTH]) -> u64,
    ) {
        let (words, _) = bytes.as_chunks::<WIDTH>();
        words.iter().zip(out).for_each(|(&word, out)| *out = Scalar { ty, bits: bits(word) });
    }
    match ty.bytes() {
        1 => each(ty, bytes, out, |[byte]| u64::from(byte)),
        2 => each(ty, bytes, out, |word| u64::from(u16::from_ne_bytes(word))),
        4 => each(ty, bytes, out, |word| u64::from(u32::from_ne_bytes(word))),
        _ => each(ty, bytes, out, u64::from_ne_bytes),
    }
}
