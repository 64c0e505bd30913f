// wanted: later calls of the frozen function cannot run this closure
use std::cell::RefCell;
use std::rc::Rc;

use jit::prelude::*;

fn main() {
    let log = Rc::new(RefCell::new(Vec::<f32>::new()));
    let x = Float::arange(3);
    let _ = jit::freeze::host(move || {
        log.borrow_mut().extend(x.to_vec().unwrap());
        1_u32
    });
}
