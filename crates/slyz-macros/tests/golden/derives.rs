#[derive(Axis)]
enum Channel { R, G, B }
#[derive(Elem)]
struct Rgb<T> { r: T, g: T, b: T }
#[derive(Elem)]
struct Mixed<A: Copy, B = u32, const N: usize = 2>(A, [B; N], (A, Rgb<B>));
