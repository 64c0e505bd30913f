// wanted: a method of a trait cannot be compiled to an executor
use jit::prelude::*;

trait Shape {
    fn area(&self, x: &Float) -> Float;
}

struct Disk(Float);

#[jit]
impl Shape for Disk {
    fn area(&self, x: &Float) -> Float {
        &self.0 * x
    }
}

fn main() {
    let disk = Disk(Float::from(2.0));
    let _ = Disk::area_stats();
    let _ = Disk::area_compile(&disk, &Float::placeholder(4));
}
