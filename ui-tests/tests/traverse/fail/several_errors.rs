// wanted: a field cannot have both `skip` and `constexpr`
use jit::prelude::*;

#[derive(Traverse)]
#[traverse(bound = "T is Traverse")]
enum Light<T> {
    #[traverse(constexpr)]
    Off,
    Lamp {
        #[traverse(skip, constexpr)]
        color: T,
        #[traverse(skip, rename = "power")]
        strength: Float,
        #[traverse(rename = 3)]
        angle: Float,
    },
    Sun {
        #[traverse]
        direction: Float,
        #[traverse(rename = "direction")]
        colour: Float,
    },
}

fn main() {}
