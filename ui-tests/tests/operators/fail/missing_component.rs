// wanted: no method named `xw` found
use jit::linalg::Vec3;

fn the_fourth_component_of_three(v: &Vec3) -> jit::Float {
    v.xw().x
}

fn main() {
    the_fourth_component_of_three(&Vec3::unit(0));
}
// rows: C248
