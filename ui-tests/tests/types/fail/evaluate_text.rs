// wanted: does not implement `Traverse`
struct Scene;

fn main() {
    jit::eval(&Scene).unwrap();
}
