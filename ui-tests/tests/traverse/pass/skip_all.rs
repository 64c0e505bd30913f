#![deny(warnings)]
use jit::prelude::*;

pub struct Handle;

#[derive(Traverse)]
pub struct Files {
    #[traverse(skip)]
    pub first: Handle,
    #[traverse(skip)]
    pub second: Handle,
}

#[derive(Traverse)]
pub enum Source<'a, T: Clone> {
    Nothing,
    #[allow(unused)]
    File(#[traverse(skip)] Handle),
    Arrays { all: &'a [T], last: &'a mut Float },
}

#[derive(Traverse)]
pub enum Never {}

fn main() {
    let mut last = Float::from(2.0);
    let tree = (
        Files { first: Handle, second: Handle },
        [Source::Nothing, Source::File(Handle), Source::Arrays { all: &[Float::from(1.0)], last: &mut last }],
        None::<Never>,
    );
    let paths: Vec<String> = jit::leaves(&tree).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["1[2].Arrays.all[0]", "1[2].Arrays.last"]);
}
