#[function]
fn flow(x: Exp<f32>) -> Exp<f32> {
    let y = if x < 0.0 { return x; } else { -x };
    'a: for i in 0..3 {
        if y > 1.0 { break; }
        if y > 2.0 { continue; }
        for j in 0..3 { if y > 2.0 { loop { break; } } }
        if y > 3.0 { for j in 0..3 { break 'a; } }
        if i == 1 && { return y; } { }
    }
    if x > 1.0 { panic!("no"); }
    if x > 1.0 { if x > 2.0 { todo!() } else { unimplemented!() } }
    if x > 1.0 { std::unreachable!() } else { assert_eq!(1, 2) }
    host()?;
    if x > 2.0 { host()?; }
    let f = |x| { host()?; if x > 1.0 { host()? } };
    y
}
#[function]
fn words(x: Exp<f32>) -> Exp<f32> {
    let y = fut.await;
    let z = async { 1 };
    let w = async |x| 1;
    unsafe { x }
}
#[function(inline)]
fn this(&mut self, x: Exp<f32>) -> Exp<f32> {
    if x > 1.0 { self.x = x; }
    x
}
#[function]
fn method(&self, x: Exp<f32>) -> Exp<f32> { x }
#[function]
async fn is_async(x: Exp<f32>) -> Exp<f32> { x }
#[function]
unsafe fn is_unsafe(x: Exp<f32>) -> Exp<f32> { x }
#[function]
const fn is_const(x: Exp<f32>) -> Exp<f32> { x }
#[function]
extern "C" fn is_extern(x: Exp<f32>) -> Exp<f32> { x }
#[function]
fn opaque(x: Exp<f32>) -> (impl Copy, u32) { x }
#[function]
fn thirteen(a: E, b: E, c: E, d: E, e: E, f: E, g: E, h: E, i: E, j: E, k: E, l: E, m: E) -> E { a }
#[function(inlin)]
fn misspelt(x: Exp<f32>) -> Exp<f32> { x }
#[function(inline, twice)]
fn twice(x: Exp<f32>) -> Exp<f32> { x }
#[function(=)]
fn no_word(x: Exp<f32>) -> Exp<f32> { x }
#[function]
struct NotAFunction;
#[derive(Axis)]
struct NotAnEnum;
#[derive(Axis)]
enum Empty {}
#[derive(Axis)]
enum Generic<T> { A, B }
#[derive(Axis)]
enum Filled { A, B(u32) }
#[derive(Axis)]
enum Numbered { A, B = 7 }
#[derive(Elem)]
struct Fixed { x: f32, n: u32, y: f32 }
#[derive(Elem)]
struct FixedTuple(f32, u32);
#[derive(Elem)]
struct Nothing;
#[derive(Elem)]
struct OneFixed<T> { x: T, n: u32 }
#[derive(Elem)]
struct Bounded<T: Float> { x: T }
#[derive(Elem)]
struct BoundedWhere<T> where T: Float { x: T }
#[derive(Elem)]
struct Borrowed<'a, T> { x: &'a T }
#[derive(Elem)]
enum Variants<T> { A(T), B(T) }
#[derive(Elem)]
union Overlay<T> { a: T }
#[derive(Arrays)]
enum Layers { Dense(Arr<f32, N>), None }
#[derive(Arrays)]
union Either { a: Arr<f32, N>, b: Exp<f32> }
#[derive(Arrays)]
#[arrays(name = "Tensors")]
struct Options { a: Arr<f32, N> }
#[derive(Arrays)]
#[arrays(host = "two words")]
struct TwoWords { a: Arr<f32, N> }
#[derive(Arrays)]
#[arrays(host = "Same")]
struct Same { a: Arr<f32, N> }
