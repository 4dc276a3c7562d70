#[derive(Axis)]
enum Channel { R, G, B }
#[derive(Elem)]
struct Rgb<T> { r: T, g: T, b: T }
#[derive(Elem)]
struct Mixed<A: Copy, B = u32, const N: usize = 2>(A, [B; N], (A, Rgb<B>));
#[derive(Arrays)]
pub struct Net<A: Axis, B: Axis = M> where (A, B): Shape {
    /// The weights.
    pub w: Arr<f32, (A, B)>,
    layers: [Layer; 2],
}
#[derive(Arrays)]
#[arrays(host = "Weights")]
struct Pair(Arr<f32, N>, pub Exp<u32>);
#[derive(Arrays)]
struct Nothing;
