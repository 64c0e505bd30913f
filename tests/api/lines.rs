//! The lines in the messages of incorrect programs: those of the program, never those inside of the library or of
//! Rust's, whatever closures and iterators the library passes the values through.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::freeze::Frozen;
use jit::linalg::{Mat3, Vec3};
use jit::nn::{self, Module};
use jit::prelude::*;
use jit::random::rng;
use jit::{Result, ad};

/// An incorrect program: it panics or fails.
type Program = (&'static str, fn() -> Result<()>);

/// The message of a program.
fn message((name, program): &Program) -> String {
    match catch_unwind(AssertUnwindSafe(program)) {
        Ok(Ok(())) => panic!("`{name}` has no message"),
        Ok(Err(error)) => error.to_string(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(payload) => payload.downcast::<&'static str>().expect("a message").to_string(),
        },
    }
}

/// The places in a message, as `file:line:column`.
fn places(message: &str) -> impl Iterator<Item = &str> {
    message.split_whitespace().filter(|word| word.contains(".rs:"))
}

fn x(width: usize) -> Float {
    Float::arange(width) + 1.0
}

fn t(shape: &[usize]) -> Tensor<f32> {
    Tensor::ones(shape)
}

/// Evaluates a value, or fails.
fn read(x: &Float) -> Result<()> {
    x.to_vec().map(drop)
}

#[freeze]
fn frozen_sum(x: &Float, y: &Float) -> Float {
    (x * y).sum()
}

#[jit]
fn doubled(mut x: Float, steps: u32) -> Float {
    let mut n = UInt::from(0);
    while n < steps {
        x = x * 2.0;
        n += 1;
    }
    x
}

#[jit]
fn added(x: &Float, y: &Float) -> Float {
    x + y
}

const ARRAYS: &[Program] = &[
    ("operator", || read(&(x(2) + x(3)))),
    ("operator in a closure of an iterator", || read(&(0..2).map(|_| x(2) * x(3)).next().unwrap())),
    ("assignment", || {
        let mut a = x(2);
        a += x(3);
        read(&a)
    }),
    ("select", || read(&Mask::from([true, false]).select(x(2), x(3)))),
    ("select of tuples", || read(&jit::trees::select(&Mask::from([true, false]), &(x(3), x(2)), &(x(2), x(2))).0)),
    ("mul_add", || read(&x(2).mul_add(x(3), x(2)))),
    ("scatter", || {
        let mut a = x(4);
        a.scatter(x(2), &UInt::from([0, 1, 2]));
        read(&a)
    }),
    ("slice", || read(&x(4).slice(3..9))),
    ("concat", || read(&Float::concat(&[&x(2), &x(3)]).slice(0..9))),
    ("item", || x(2).item().map(drop)),
    ("get", || x(2).get(7).map(drop)),
    ("dot", || read(&x(2).dot(x(3)))),
    ("meshgrid of a loop", || read(&doubled(x(2) + x(3), 2))),
    ("linspace", || read(&(Float::linspace(0.0, 1.0, 5) + x(2)))),
    ("switch", || {
        read(&jit::switch(&UInt::from([0, 1]), &[|x: &Float| x * 2.0, |x: &Float| x + Float::arange(3)], (&x(2),)))
    }),
    ("placeholder", || read(&Float::placeholder(3))),
];

const AUTODIFF: &[Program] = &[
    ("grad of a vector", || read(&ad::grad(|x: &Float| x + Float::arange(7))(&x(3))?)),
    ("no variable", || x(3).backward()),
    ("backward of an enqueued constant", || ad::backward(&(x(2), x(3)))),
    ("gradient of another width", || {
        let mut a = x(3);
        a.enable_grad();
        a.set_grad(&x(2));
        Ok(())
    }),
    ("gradients of the results of vjp", || {
        let (_, back) = ad::vjp(|x: &Float| x * 2.0, &x(3))?;
        back(&x(2)).map(drop)
    }),
    ("tangent of another width", || ad::jvp(|x: &Float| x * 2.0, &x(3), &x(2)).map(drop)),
    ("vector of another width", || ad::hvp(|x: &Float| (x * x).sum(), &x(3), &x(2)).map(drop)),
    ("scatter with a maximum", || {
        let loss = |x: &Float| {
            let mut cells = Float::zeros(2);
            cells.scatter_reduce(ReduceOp::And, x, &UInt::from(0));
            cells.sum()
        };
        read(&ad::grad(loss)(&x(3))?)
    }),
];

const FROZEN: &[Program] = &[
    ("operator in a frozen function", || read(&frozen_sum(&x(2), &x(3)))),
    ("closure that is frozen", || read(&Frozen::new(|x: &Float| x + Float::arange(9)).call((&x(3),)))),
    ("contents are read", || {
        read(&Frozen::new(|x: &Float| x * x.sum().item().unwrap_or_else(|error| panic!("{error}"))).call((&x(3),)))
    }),
    ("executor of another width", || {
        let compiled = added::compile(&x(3), &x(3))?;
        compiled.call(&x(3), &x(4)).map(drop)
    }),
];

const TENSORS: &[Program] = &[
    ("shapes", || read(&(t(&[2, 3]) + t(&[4, 3])).into_array())),
    ("matmul", || read(&t(&[2, 3]).matmul(&t(&[4, 3])).into_array())),
    ("reshape", || read(&t(&[2, 3]).reshape([4, 2]).into_array())),
    ("axis", || read(&t(&[2, 3]).sum(5).into_array())),
    ("permute", || read(&t(&[2, 3]).permute_axes([0, 0]).into_array())),
    ("concat of tensors", || read(&Tensor::concat(&[t(&[2, 3]), t(&[2, 4])], 0).into_array())),
    ("pad", || read(&t(&[2, 3]).pad(&[(1, 1)], 0.0).into_array())),
    ("greatest along an axis", || read(&t(&[2, 3]).reduce_max(7).into_array())),
];

const MODULES: &[Program] = &[
    ("linear", || {
        let mut layer = nn::Linear::<f32>::new(4, 3, &mut rng(1));
        read(&layer.forward(&t(&[2, 5])).into_array())
    }),
    ("layers in a list", || {
        let mut layers: Vec<_> = (0..3).map(|_| nn::Linear::<f32>::new(4, 3, &mut rng(1))).collect();
        read(&layers.forward(&t(&[2, 4])).into_array())
    }),
    ("transposed convolution", || {
        let mut layer = nn::ConvTransposed1d::<f32>::new(2, 3, [3], &mut rng(1)).with_paddings([9]);
        read(&layer.forward(&t(&[1, 2, 4])).into_array())
    }),
    ("traced module", || {
        let layers = (nn::Linear::<f32>::new(4, 3, &mut rng(1)), nn::Linear::<f32>::new(2, 2, &mut rng(1)));
        jit::trace(layers, &t(&[2, 4])).map(drop)
    }),
    ("input of a traced module", || {
        let mut traced = jit::trace(nn::Linear::<f32>::new(4, 3, &mut rng(1)), &t(&[2, 4]))?;
        read(&traced.forward(&t(&[2, 7])).into_array())
    }),
    ("loss", || read(&nn::mse_loss(&t(&[2, 3]), &t(&[4])).into_array())),
    ("gradient of a module", || {
        let mut layer = nn::Linear::<f32>::new(4, 3, &mut rng(1));
        nn::value_and_grad(&mut layer, |layer| nn::mse_loss(&layer.forward(&t(&[2, 9])), &t(&[2, 3]))).map(drop)
    }),
    ("parts of optimisers", || {
        drop(jit::optim::Sgd::new(&(x(2), x(3)), 0.1).with_group("7", |group| group.rate = 0.5.into()));
        Ok(())
    }),
    ("vectors of several widths", || {
        let (a, b) = (Vec3::new(x(2), x(2), x(2)), Vec3::new(x(3), x(3), x(3)));
        read(&a.dot(&b))
    }),
    ("matrix and vector of several widths", || {
        let m = Mat3::<f32>::identity() * x(2);
        read(&(m * Vec3::new(x(3), x(3), x(3))).x)
    }),
];

/// Asserts that all places in the messages are in this file, and that there is one.
fn check(programs: &[Program]) {
    let mut wrong = Vec::new();
    for program in programs {
        let message = message(program);
        let mut found = places(&message).peekable();
        if found.peek().is_none() || found.any(|place| !place.contains("lines.rs:")) {
            wrong.push(format!("{}: {message}", program.0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn messages_about_arrays_name_lines_of_the_program() {
    check(ARRAYS);
}

#[test]
fn messages_of_derivatives_name_lines_of_the_program() {
    check(AUTODIFF);
}

#[test]
fn messages_of_frozen_functions_name_lines_of_the_program() {
    check(FROZEN);
}

#[test]
fn messages_about_tensors_name_lines_of_the_program() {
    check(TENSORS);
}

#[test]
fn messages_about_modules_name_lines_of_the_program() {
    check(MODULES);
}

#[test]
fn a_function_that_is_passed_by_its_name_is_explained() {
    let program: Program = ("sums", || read(&[x(2), x(3)].into_iter().reduce(std::ops::Add::add).expect("an array")));
    let message = message(&program);
    assert!(message.contains("passed by its name") && message.contains("lines.rs:"), "{message}");
}
