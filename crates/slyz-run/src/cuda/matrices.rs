//! Products of matrices by cuBLASLt, where it is installed.
//!
//! The library counts columns first and we count rows first, so what it is given are all matrices turned: `cᵀ = bᵀ·aᵀ`.
//!
//! Bytes are multiplied on tensor cores where their terms lie side by side in both factors, and where columns are a multiple of 4; sums have
//! 32 bits.

use super::opened::Opened;
use crate::Error;
use cudarc::cublaslt::{result, sys};
use cudarc::driver::result as driver;
use cudarc::driver::sys::CUstream;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Activation, Factor, Kernel, MatrixProduct};
use slyz_sir::size::Size;
use slyz_sir::types::Ty;
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Memory that the library may work in; what it asks for on newer GPUs.
const WORKSPACE: usize = 32 << 20;

/// The library, opened for a GPU.
pub(super) struct Library {
    handle: sys::cublasLtHandle_t,
    /// All work is in the order of one stream, so that products may share it.
    workspace: OnceLock<u64>,
}

// SAFETY: the handle may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: the same.
unsafe impl Sync for Library {}

impl Library {
    /// `None` where it is not installed, or not to be used.
    pub(super) fn open() -> Option<Library> {
        if std::env::var("SLYZ_CUBLAS").is_ok_and(|value| value == "0") {
            return None;
        }
        // SAFETY: the library is only looked for.
        if !unsafe { sys::is_culib_present() } {
            return None;
        }
        let handle = result::create_handle().ok()?;
        Some(Library { handle, workspace: OnceLock::new() })
    }

    fn workspace(&self, opened: &Opened) -> Result<u64, Error> {
        if let Some(&address) = self.workspace.get() {
            return Ok(address);
        }
        // SAFETY: the stream lives.
        let address = unsafe { driver::malloc_async(opened.stream, WORKSPACE) }
            .map_err(|error| opened.trouble(error, &"the workspace of cuBLASLt", WORKSPACE as u64))?;
        if self.workspace.set(address).is_err() {
            // Another thread was faster.
            // SAFETY: nobody has seen it.
            let _ = unsafe { driver::free_async(address, opened.stream) };
        }
        Ok(self.workspace.get().copied().unwrap_or(address))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more; the workspace goes with the context's pool.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

/// A product with numbers for its sizes.
pub(crate) struct Product {
    description: Mutex<Description>,
    /// Of `a`, `b` and the result, as the library names them.
    layouts: [Layout; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
    /// Places among the arrays of the launch, in the same order.
    places: [usize; 3],
    bias: Option<usize>,
    /// What the sum is multiplied by, and what was there before, which is nothing: in the type that the library scales in.
    scales: [[u8; 8]; 2],
}

// SAFETY: descriptions are only read while a product is started, but for the bias, which is behind a lock.
unsafe impl Send for Product {}
// SAFETY: the same.
unsafe impl Sync for Product {}

/// What is to be done.
struct Description(sys::cublasLtMatmulDesc_t);

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

impl Description {
    fn set<T>(&self, what: sys::cublasLtMatmulDescAttributes_t, value: &T) -> Option<()> {
        // SAFETY: the description lives, and so does the value, which is copied.
        unsafe { result::set_matmul_desc_attribute(self.0, what, (&raw const *value).cast(), size_of::<T>()) }.ok()
    }
}

/// How a matrix stands in memory.
struct Layout(sys::cublasLtMatrixLayout_t);

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

impl Layout {
    fn new(ty: Ty, [rows, columns]: [u64; 2], (count, stride): (u64, u64)) -> Option<Layout> {
        use sys::cublasLtMatrixLayoutAttribute_t as What;
        // Its rows are our columns, which lie side by side.
        let layout = result::create_matrix_layout(data_type(ty)?, columns, rows, i64::try_from(columns).ok()?).ok()?;
        let layout = Layout(layout);
        if count > 1 {
            let count = i32::try_from(count).ok()?;
            let stride = i64::try_from(stride).ok()?;
            layout.set(What::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count)?;
            layout.set(What::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride)?;
        }
        Some(layout)
    }

    fn set<T>(&self, what: sys::cublasLtMatrixLayoutAttribute_t, value: &T) -> Option<()> {
        // SAFETY: the layout lives, and so does the value, which is copied.
        unsafe { result::set_matrix_layout_attribute(self.0, what, (&raw const *value).cast(), size_of::<T>()) }.ok()
    }
}

fn data_type(ty: Ty) -> Option<sys::cudaDataType> {
    use sys::cudaDataType_t as Data;
    match ty {
        Ty::F16 => Some(Data::CUDA_R_16F),
        Ty::BF16 => Some(Data::CUDA_R_16BF),
        Ty::F32 => Some(Data::CUDA_R_32F),
        Ty::F64 => Some(Data::CUDA_R_64F),
        Ty::I8 => Some(Data::CUDA_R_8I),
        Ty::I32 => Some(Data::CUDA_R_32I),
        Ty::Bool | Ty::I16 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => None,
    }
}

/// Does the library give such sums of such factors?
fn is_made(factor: Ty, sums: Ty) -> bool {
    match factor {
        Ty::F32 | Ty::F64 => sums == factor,
        Ty::F16 | Ty::BF16 => sums == factor || sums == Ty::F32,
        Ty::I8 => sums == Ty::I32,
        Ty::Bool | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => false,
    }
}

/// In what the library adds. Sums of bytes are exact. Halves are added in `f32`, and so is `f32`, unless the GPU's own ways are asked for: its tensor cores take the
/// first 10 bits of each factor then.
fn arithmetic(ty: Ty, precision: Precision) -> (sys::cublasComputeType_t, sys::cudaDataType) {
    use sys::cublasComputeType_t as Compute;
    match (ty, precision) {
        (Ty::I8, _) => (Compute::CUBLAS_COMPUTE_32I, sys::cudaDataType_t::CUDA_R_32I),
        (Ty::F64, _) => (Compute::CUBLAS_COMPUTE_64F, sys::cudaDataType_t::CUDA_R_64F),
        (Ty::F32, Precision::Native) => (Compute::CUBLAS_COMPUTE_32F_FAST_TF32, sys::cudaDataType_t::CUDA_R_32F),
        _ => (Compute::CUBLAS_COMPUTE_32F, sys::cudaDataType_t::CUDA_R_32F),
    }
}

/// One and zero, or another scale and zero, as the library reads them.
fn scales(scale: f64, ty: sys::cudaDataType) -> [[u8; 8]; 2] {
    use sys::cudaDataType_t as Data;
    let one = match ty {
        Data::CUDA_R_64F => scale.to_bits(),
        Data::CUDA_R_32I => u64::from(scale as i32 as u32),
        _ => u64::from((scale as f32).to_bits()),
    };
    [one, 0].map(u64::to_le_bytes)
}

/// A matrix of the kernel in numbers.
pub(crate) struct Numbers {
    ty: Ty,
    place: usize,
    /// Rows and columns, as they stand in memory.
    extents: [u64; 2],
    /// How many there are: one where the same is taken again and again.
    count: u64,
}

impl Numbers {
    /// Words of four bytes as the bytes, which lie side by side.
    fn in_bytes(self) -> Numbers {
        let [rows, words] = self.extents;
        Numbers { ty: Ty::I8, extents: [rows, 4 * words], ..self }
    }
}

impl Product {
    /// The product that a kernel is, by the library; `None` where it has none like it. Then the kernel runs.
    pub(super) fn of(
        opened: &Opened,
        kernel: &Kernel,
        precision: Precision,
        eval: &dyn Fn(&Size) -> Result<u64, Error>,
    ) -> Result<Option<Product>, Error> {
        let (Some(library), Some(product)) = (opened.matrices(), &kernel.product) else { return Ok(None) };
        if precision == Precision::Exact && !product.bytes {
            return Ok(None);
        }
        opened.enter()?;
        Ok(Product::new(library, kernel, product, precision, eval))
    }

    fn new(
        library: &Library,
        kernel: &Kernel,
        product: &MatrixProduct,
        precision: Precision,
        eval: &dyn Fn(&Size) -> Result<u64, Error>,
    ) -> Option<Product> {
        use sys::cublasLtMatmulDescAttributes_t as What;
        let numbers = |place: usize| -> Option<Numbers> {
            let memory = &kernel.memories[place];
            let shape: Vec<u64> = memory.shape.iter().map(|size| eval(size).ok()).collect::<Option<_>>()?;
            let [others @ .., rows, columns] = &shape[..] else { return None };
            Some(Numbers { ty: memory.ty, place, extents: [*rows, *columns], count: others.iter().product() })
        };
        let of = |factor: &Factor| {
            let matrix = numbers(factor.memory.0 as usize)?;
            Some(if product.bytes { matrix.in_bytes() } else { matrix })
        };
        let left = of(&product.left)?;
        let right = of(&product.right)?;
        let made = numbers(product.result.0 as usize)?;
        let turns = left.extents[usize::from(!product.left.turned)];
        let is_empty = made.extents.contains(&0) || made.count == 0 || turns == 0;
        let fits = !product.bytes || made.extents[1].is_multiple_of(4);
        if is_empty || !fits || left.ty != right.ty || !is_made(left.ty, made.ty) {
            return None;
        }
        let (compute, scale_type) = arithmetic(left.ty, precision);
        let description = Description(result::create_matmul_desc(compute, scale_type).ok()?);
        let turned = |turned: bool| i32::from(turned);
        description.set(What::CUBLASLT_MATMUL_DESC_TRANSA, &turned(product.right.turned))?;
        description.set(What::CUBLASLT_MATMUL_DESC_TRANSB, &turned(product.left.turned))?;
        let bias = product.bias.map(|bias| bias.0 as usize);
        if bias.is_some_and(|place| kernel.memories[place].ty != made.ty) {
            return None;
        }
        description.set(What::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue(bias.is_some(), product.activation))?;
        let layout = |matrix: &Numbers| {
            let stride = if matrix.count == 1 { 0 } else { matrix.extents[0] * matrix.extents[1] };
            Layout::new(matrix.ty, matrix.extents, (made.count, stride))
        };
        let layouts = [layout(&right)?, layout(&left)?, layout(&made)?];
        let algorithm = algorithm(library, &description, &layouts)?;
        let places = [right.place, left.place, made.place];
        let scale = product.scale.map_or(1.0, |scale| scale.as_f64());
        let scales = scales(scale, scale_type);
        Some(Product { description: Mutex::new(description), layouts, algorithm, places, bias, scales })
    }

    /// Gives the product to the GPU.
    ///
    /// # Safety
    /// Addresses are those of the arrays of the kernel, with the bytes of their shapes.
    pub(super) unsafe fn run(
        &self,
        opened: &Opened,
        stream: CUstream,
        address: &dyn Fn(usize) -> u64,
    ) -> Result<(), Error> {
        let failed = |why: String| Error::Driver { what: "a product of matrices by cuBLASLt".to_string(), why };
        let library = opened.matrices().ok_or_else(|| failed("the library is gone".to_string()))?;
        let workspace = library.workspace(opened)?;
        let [a, b, made] = self.places.map(address);
        let [of_a, of_b, of_made] = &self.layouts;
        let description = self.description.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bias) = self.bias {
            let what = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
            description.set(what, &address(bias)).ok_or_else(|| failed("it takes no bias".to_string()))?;
        }
        // SAFETY: the caller's promise; what describes them was made for these extents, and the workspace has so many bytes.
        let done = unsafe {
            result::matmul(
                library.handle,
                description.0,
                self.scales[0].as_ptr().cast(),
                self.scales[1].as_ptr().cast(),
                a as *const c_void,
                of_a.0,
                b as *const c_void,
                of_b.0,
                made as *const c_void,
                of_made.0,
                made as *mut c_void,
                of_made.0,
                &self.algorithm,
                workspace as *mut c_void,
                WORKSPACE,
                stream.cast(),
            )
        };
        done.map_err(|error| failed(error.to_string()))
    }
}

/// What the library does behind the sums.
fn epilogue(biased: bool, activation: Option<Activation>) -> sys::cublasLtEpilogue_t {
    use sys::cublasLtEpilogue_t as Epilogue;
    match (biased, activation) {
        (false, None) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
        (false, Some(Activation::Rectified)) => Epilogue::CUBLASLT_EPILOGUE_RELU,
        (false, Some(Activation::Gelu)) => Epilogue::CUBLASLT_EPILOGUE_GELU,
        (true, None) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
        (true, Some(Activation::Rectified)) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
        (true, Some(Activation::Gelu)) => Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
    }
}

/// The library's first choice.
fn algorithm(
    library: &Library,
    description: &Description,
    [a, b, made]: &[Layout; 3],
) -> Option<sys::cublasLtMatmulAlgo_t> {
    let preference = result::create_matmul_pref().ok()?;
    let what = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    let bytes = WORKSPACE;
    // SAFETY: all of them live, and the number is copied.
    let found = unsafe {
        let set = result::set_matmul_pref_attribute(preference, what, (&raw const bytes).cast(), size_of::<usize>());
        let ask = |()| {
            let made = made.0;
            result::get_matmul_algo_heuristic(library.handle, description.0, a.0, b.0, made, made, preference)
        };
        let found = set.and_then(ask);
        let _ = result::destroy_matmul_pref(preference);
        found
    };
    Some(found.ok()?.algo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_four_bytes_side_by_side() {
        let words = Numbers { ty: Ty::I32, place: 1, extents: [6, 10], count: 3 };
        let bytes = words.in_bytes();
        assert_eq!((bytes.ty, bytes.extents, bytes.count), (Ty::I8, [6, 40], 3));
    }

    #[test]
    fn scales_are_in_the_type_of_the_sums() {
        assert_eq!(scales(1.0, arithmetic(Ty::I8, Precision::Exact).1)[0], 1u64.to_le_bytes());
        assert_eq!(scales(1.0, arithmetic(Ty::F16, Precision::Table).1)[0], 0x3f80_0000u64.to_le_bytes());
        assert_eq!(scales(0.5, arithmetic(Ty::F64, Precision::Table).1)[0], 0.5f64.to_bits().to_le_bytes());
    }

    #[test]
    fn sums_of_bytes_are_words() {
        assert!(is_made(Ty::I8, Ty::I32) && !is_made(Ty::I8, Ty::I8) && !is_made(Ty::I32, Ty::I32));
        assert!(is_made(Ty::BF16, Ty::F32) && !is_made(Ty::F32, Ty::BF16));
    }
}
