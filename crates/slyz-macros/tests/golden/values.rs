#[function]
fn select(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 && !(x == 1.0 || y) { 1.0 } else if x >= 2.0 { x } else { -x }
}
#[function]
pub fn shapes<A: Axis>(mut x: Exp<f32>, (a, b): (Idx<A>, Idx<A>)) -> Exp<f32> {
    let n = [0.0; { 1 + (2 > 1) as usize }];
    let y = 1.0 + if a != b { x } else { 0.0 };
    x = y;
    x
}
#[function(inline)]
fn no_result(&self) {
    if self.x > 1 {
        self.note();
    }
}
