// wanted: `Handle` does not implement `Traverse`
use jit::prelude::*;

#[derive(Traverse)]
struct Named<T> {
    values: Vec<T>,
    name: String,
}

struct Handle;

fn main() {
    let files = Named { values: vec![Handle], name: String::new() };
    jit::eval(&files).unwrap();
}
