// wanted: `return` or `break` under a traced condition has a value of type `Text`
use jit::prelude::*;

struct Text(&'static str);

#[jit]
fn search(x: Float) -> Text {
    let mut y = x;
    while y < 100.0 {
        if y > 50.0 {
            return Text("far");
        }
        y *= 2.0;
    }
    Text("near")
}

fn main() {}
// rows: K11
