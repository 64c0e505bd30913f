// wanted: cannot be searched for arrays
struct Scene;

fn main() {
    jit::eval(&Scene).unwrap();
}
