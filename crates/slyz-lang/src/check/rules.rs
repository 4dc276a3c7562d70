//! Every rule of the checker, once: its name, how bad breaking it is, and why it is there.
//!
//! Diagnostics go by these names; documentation lists the table, and the tests fail where a rule has no golden.

use crate::diagnostic::Severity;

/// A rule of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As diagnostics name it.
    pub name: &'static str,
    /// What breaking it is.
    pub severity: Severity,
    /// The rule and its reason, in one line.
    pub meaning: &'static str,
}

macro_rules! rules {
    ($($constant:ident $name:literal $severity:ident $meaning:literal;)*) => {
        $(#[doc = $meaning] pub(crate) const $constant: &str = $name;)*

        /// All rules of the checker.
        pub const RULES: &[Rule] = &[$(Rule { name: $name, severity: Severity::$severity, meaning: $meaning }),*];
    };
}

rules! {
    HEAP "heap-allocation" Error "Kernels have no heap: no boxes, vectors, texts or new tensors.";
    RECURSION "recursion" Error "Threads have no stack to speak of, so functions of a kernel cannot call themselves, directly or in a circle.";
    GO "go-block" Error "Kernels are synchronous: parallelism comes from the launch, not from `go`.";
    AWAIT "await" Error "Kernels are synchronous: there is nothing to wait for.";
    FOREIGN "foreign-call" Error "Code of other languages and libraries does not exist on the device.";
    PANIC "panic" Error "Nothing can leave a kernel but its threads; they end early by `return`.";
    UNSUPPORTED "unsupported" Error "Something that other code may use and kernels have no room for.";
    HOST "host-only" Error "Launching and printing are the host's business.";
    UNBOUNDED "unbounded-loop" Warning "A loop that nothing in it can end hangs the device.";
    READ_ONLY "read-only" Error "What is not declared mutable is not written.";
    MISMATCH "type-mismatch" Error "Values go to wider integers by themselves; every other conversion is written.";
    OPERAND "operand-type" Error "An operator is defined on some types only.";
    RANGE "literal-range" Error "A literal is a value of its type.";
    NAME "unknown-name" Error "A name means something only where it was declared.";
    FUNCTION "unknown-function" Error "A function is one of the file, or an operator of the table.";
    METHOD "unknown-method" Error "A method is an operator of the table, or one that tensors have.";
    FIELD "unknown-field" Error "Places have x, y and z; nothing else has fields.";
    TYPE "unknown-type" Error "Types are the scalars, tensors, and arrays of a known length.";
    TENSOR_TYPE "tensor-type" Error "A tensor holds scalars, has one to four axes, and comes in as a parameter.";
    COUNT "argument-count" Error "A function takes as many arguments as it has parameters.";
    ARGUMENT "argument-kind" Error "A tensor is passed for a tensor, a value for a value.";
    MISSING_RETURN "missing-return" Error "A function with a result gives one on every road.";
    RETURN_VALUE "return-value" Error "A function gives what its signature says, and nothing if that says nothing.";
    UNREACHABLE "unreachable" Warning "Code that no thread gets to.";
    UNUSED "unused-result" Warning "A value that is computed and forgotten.";
    NOT_A_VALUE "not-a-value" Error "Tensors and arrays are read element by element; calls without a result have no value.";
    TUPLE "tuple" Error "A tuple is taken apart where it stands, by as many names as it has values.";
    ASSIGN "not-assignable" Error "Only names and elements can be assigned to.";
    OUTSIDE_LOOP "outside-loop" Error "`break` and `continue` belong to a loop.";
    STEP "loop-step" Error "A loop counts upward, by one or more.";
    DUPLICATE "duplicate-name" Error "Functions of a file and parameters of a function have names of their own.";
    LENGTH "array-length" Error "The length of an array is a constant from 1 on, since threads cannot allocate.";
    CONSTANT "constant-value" Error "Constant memory is filled before the launch, so its values are known to the compiler.";
    THREADGROUP_VALUE "threadgroup-value" Error "Threadgroup memory is an array that starts undefined: its threads fill it.";
    THREADGROUP_MEMORY "threadgroup-memory" Error "A block has 32,768 bytes of threadgroup memory on every device.";
    LOCAL_MEMORY "local-memory" Error "The arrays of one thread are small: registers and a little memory of its own.";
    BARRIER "divergent-barrier" Error "All threads of a block come to a barrier, or those that do wait forever.";
    SUBGROUP "divergent-subgroup" Error "The threads of a subgroup work together only where all of them come by.";
    RACE "race" Error "Two threads must not write one element: nobody knows whose value stays.";
    BLOCK_RACE "block-race" Warning "Where all threads of a block write one element, one of them is enough.";
    RACY_UPDATE "racy-update" Warning "Reading, adding and writing at a position that other threads may have, too, loses updates.";
    MISSING_BARRIER "missing-barrier" Error "Between a write to threadgroup memory and what another thread does with that element lies a barrier.";
    POSSIBLE_RACE "possible-race" Warning "Two threads may meet at an element of threadgroup memory with no barrier between them.";
    ALIASING "aliasing" Error "What is written through one parameter is not passed as another one as well.";
    ATOMIC "atomic-type" Error "Atomics work on elements of type i32, u32, i64, u64 and f32 in mutable tensors and threadgroup arrays.";
    SUBGROUP_TYPE "subgroup-type" Error "Subgroup operations are defined on the types their operators are.";
    RANK "index-rank" Error "An element has one index for each axis.";
    BOUNDS "index-bounds" Error "A constant index is inside its array.";
    DIVISION "division-by-zero" Warning "Integer division by a literal zero gives its left side; hardly what was meant.";
    SHIFT "shift-width" Error "A shift by the width of the type or more moves every bit out.";
    ALWAYS "always-same" Warning "A comparison whose outcome does not depend on anything.";
    THREAD_INDEX "thread-index" Note "`thread` is the index inside the block in kernels that read `block`, else the index in the whole grid.";
    SIZE "kernel-size" Error "Functions that touch memory are copied to where they are called, and a kernel has up to 1,000,000 statements and expressions with them.";
    DEEP "too-deep" Error "Code nests up to a limit, so that compilers of every target can follow.";
}
