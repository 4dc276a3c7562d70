#[derive(Naperian)]
pub struct Rgb<T> { pub r: T, pub g: T, pub b: T }
#[derive(Naperian)]
struct Body<T, const N: usize>([T; N], (T, Rgb<T>), Rgb<[T; 2]>);
#[derive(Naperian)]
struct NoElements { x: f32 }
#[derive(Naperian)]
struct TwoElements<A, B> { a: A, b: B }
#[derive(Naperian)]
struct Bounded<T: Copy> { x: T }
#[derive(Naperian)]
struct BoundedWhere<T> where T: Copy { x: T }
#[derive(Naperian)]
struct Borrowed<'a, T> { x: &'a T }
#[derive(Naperian)]
struct Fixed<T> { x: T, n: u32 }
#[derive(Naperian)]
struct Reference<T> { x: &'static T }
#[derive(Naperian)]
struct Triple<T> { x: (T, T, T) }
#[derive(Naperian)]
struct Same<T> { left_eye: T, leftEye: T }
#[derive(Naperian)]
enum Variants<T> { A(T), B(T) }
