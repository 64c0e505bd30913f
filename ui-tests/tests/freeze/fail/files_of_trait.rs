// wanted: the recordings of a method of a trait have no files
use jit::prelude::*;

trait Shape {
    fn area(&mut self, x: &Float) -> Float;
}

#[derive(Clone, Traverse)]
struct Disk(Float);

#[jit]
impl Shape for Disk {
    #[freeze]
    fn area(&mut self, x: &Float) -> Float {
        &self.0 * x
    }
}

fn main() {
    Disk::area_save("area.jit").unwrap();
    Disk::area_load("area.jit").unwrap();
}
