// wanted: `TracedEnum` is for enums, whose variant then differs by lane
use jit::prelude::*;

#[derive(TracedEnum)]
struct Material(Float);

#[derive(TracedEnum)]
enum Nothing {}

#[derive(TracedEnum)]
#[traced_enum(krate = jit)]
enum Misspelt {
    Some(Float),
}

fn main() {}
// rows: K17
