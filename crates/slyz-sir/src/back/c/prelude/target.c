// One logical thread per lane and W lanes to a vector. W follows from the machine and from LANES_64, which says
// whether the file holds 64-bit lanes; a vector is never wider than a register. Masks have lanes 0 and -1.
#if defined __AVX512F__ && defined __AVX512DQ__ && defined __AVX512VL__ && defined __AVX512BW__
# define BYTES 64
# define AVX512 1
#elif defined __AVX2__ && defined __FMA__
# define BYTES 32
#else
# define BYTES 16
#endif
#ifndef AVX512
# define AVX512 0
#endif
#if LANES_64
# define W (BYTES / 8)
#else
# define W (BYTES / 4)
#endif
#define FN static inline __attribute__((always_inline, unused))
#define RARE static __attribute__((noinline, cold, unused))
#define KEPT static __attribute__((noinline, unused))
#define VECTOR(T) T __attribute__((vector_size(sizeof(T) * W)))
#ifdef __has_builtin
# define HAS(x) __has_builtin(x)
#else
# define HAS(x) 0
#endif
#ifdef __clang__
# define KNOWS(x) HAS(x)
# define EACH(i) _Pragma("clang loop unroll(full)") for (int i = 0; i < W; i++)
# define WAYS(u, n) _Pragma("clang loop unroll(full)") for (int u = 0; u < n; u++)
#else
// A sanitizer sees plain accesses to memory, not those of the machine's own functions.
# ifdef __SANITIZE_ADDRESS__
#  define KNOWS(x) 0
# else
#  define KNOWS(x) 1
# endif
# define EACH(i) _Pragma("GCC unroll 16") for (int i = 0; i < W; i++)
# define WAYS(u, n) _Pragma("GCC unroll 32") for (int u = 0; u < n; u++)
#endif

// Vectors side by side that a square of sums of six rows fills the registers with.
#if defined __AVX512F__ || defined __aarch64__
# define ROOM 4
#else
# define ROOM 2
#endif

// Is there a fused multiply-add? Elsewhere it is emulated: exact, but slow.
#if defined __FMA__ || defined __AVX512F__ || defined __aarch64__ || defined __ARM_FEATURE_FMA
# define HAS_FMA 1
#else
# define HAS_FMA 0
#endif

typedef __INT8_TYPE__ i8;
typedef __UINT8_TYPE__ u8;
typedef __INT16_TYPE__ i16;
typedef __UINT16_TYPE__ u16;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;

// Words of memory that hold something else, too: floats move as integers.
typedef __attribute__((may_alias)) i32 any_i32;
typedef __attribute__((may_alias)) i64 any_i64;

// Half precision exists in memory only; lanes and scalars hold it as f32.
typedef u16 f16;
typedef u16 bf16;

// Twice the width, for exact products.
typedef unsigned __int128 u128;

//: T = f32, i32, u32, f64, i64, u64, i8, u8, i16, u16
typedef VECTOR($T) v$T;
