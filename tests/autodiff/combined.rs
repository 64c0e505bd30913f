//! Control flow, writes and higher derivatives together: reverse and forward mode against differences, and second
//! derivatives.

use jit::Float64;
use jit::prelude::*;

use crate::{check_function, check_second, on_each_device};

type F = Float64;

const VALUES: [f64; 6] = [0.5, -0.4, 0.9, 0.3, -0.7, 0.8];

#[track_caller]
fn check(name: &str, function: &dyn Fn(&F) -> F, x: &[f64]) {
    on_each_device(|| {
        check_function(name, function, x);
        check_second(name, function, x);
    });
}

fn first(x: &F) -> F {
    x.gather(&UInt::from(0))
}

/// More lanes than elements, so that calls are worth sorting and loops worth compacting.
fn widened(x: &F) -> F {
    x.gather(&(UInt::arange(100) % x.len() as u32)) * 0.1 + F::linspace(0.0, 0.4, 100)
}

#[test]
fn gradients_were_lost_in_sorted_calls() {
    let sorted = |x: &F| {
        let a = first(x);
        let targets: [&dyn Fn(F) -> F; 3] = [&|y| (y * &a).sin(), &|y| y.square() * &a + a.exp(), &|_| a.exp()];
        let y = jit::switch_sorted(&(UInt::arange(100) % 4), &targets, (widened(x),));
        F::concat(&[y.slice(0..10), y.sum()])
    };
    check("sorted call", &sorted, &VALUES);
}

#[jit]
fn compacted(x: &F) -> F {
    let (wide, shared, end) = (widened(x), first(x), UInt::arange(100) % 9);
    let (mut y, mut k) = (wide.clone(), UInt::zeros(100));
    #[evaluated]
    #[compress]
    while k < end {
        y = (&y * &wide).sin() + &shared * &y;
        k += 1;
    }
    F::concat(&[y.slice(0..10), y.sum()])
}

#[test]
fn gradients_were_lost_where_finished_lanes_exit_a_loop() {
    check("compacted loop", &compacted, &VALUES);
}

/// The quotient by a value that lanes share has a derivative that may be infinite.
#[test]
fn second_derivatives_by_shared_factors_had_the_width_of_the_lanes() {
    check("quotient", &|x| (x + 3.0) / first(x) + (x + 2.0) * (first(x) + 1.0).sqrt(), &VALUES);
}

#[jit]
fn products(x: &F) -> F {
    let lane = UInt::arange(x.width());
    let mut array = x.slice(0..4) * 1.0;
    let mut k = UInt::from(0);
    while k < 2 {
        array.scatter_reduce(ReduceOp::Mul, &(x * (k.cast::<f64>() + 1.0)), &((&lane + &k) % 4));
        k += 1;
    }
    array
}

#[test]
fn products_of_scatters_have_second_derivatives_at_zeros() {
    let scattered = |x: &F| {
        let mut array = x.slice(0..3) * 1.0;
        array.scatter_reduce(ReduceOp::Mul, x, &(UInt::arange(x.width()) % 3));
        array
    };
    for zeros in [&[][..], &[0], &[4], &[1, 2], &[0, 4], &[0, 3, 5]] {
        let mut x = VALUES;
        zeros.iter().for_each(|&position| x[position] = 0.0);
        check(&format!("scatter {zeros:?}"), &scattered, &x);
        check(&format!("loop {zeros:?}"), &products, &x);
    }
}

#[jit]
fn nested(x: &F, op: ReduceOp) -> F {
    let lane = UInt::arange(x.width());
    let mut array = F::full(-10.0, 3);
    let (mut y, mut k) = (x.clone(), UInt::from(0));
    while k < 3 {
        let mut j = UInt::from(0);
        while j <= k {
            array.scatter_reduce(op, (&y * 0.5 + 1.1).sin(), &((&lane + &j) % 3));
            y = (&y * x + 0.3).cos();
            j += 1;
        }
        k += 1;
    }
    array
}

#[test]
fn derivatives_of_inner_loops_that_write_could_not_be_differentiated() {
    for op in [ReduceOp::Add, ReduceOp::Max] {
        check(&format!("{op:?}"), &|x| nested(x, op), &VALUES);
    }
}

#[jit]
fn chosen(x: &F) -> F {
    let filled = |x: F| {
        let mut memory = Local::<f64>::new(3);
        (0..3_u32).for_each(|k| memory.write(&UInt::from(k), (&x * f64::from(k + 1)).sin()));
        memory
    };
    let mut memory = if x > 0.4 { filled((x * 2.0).exp().sin()) } else { filled(x.tanh()) };
    let keep = |memory: Local<f64>| memory;
    let replace = |memory: Local<f64>| filled(memory.read(&UInt::from(1)));
    let targets: [&dyn Fn(Local<f64>) -> Local<f64>; 2] = [&keep, &replace];
    memory = jit::switch(&(UInt::arange(x.width()) % 2), &targets, (memory,));
    memory.read(&UInt::from(0)) * memory.read(&UInt::from(2)) + memory.read(&UInt::from(1))
}

#[test]
fn local_memory_is_the_result_of_a_branch_and_of_a_call() {
    check("local memory", &chosen, &VALUES);
}

#[jit]
fn products_in_a_branch_of_nested_loops(x: &F) -> F {
    let lane = UInt::arange(x.width());
    let mut array = x.slice(0..4) * 1.0 + 0.5;
    let mut i = UInt::from(0);
    while i < 2 {
        let mut j = UInt::from(0);
        while j < 2 {
            if (&lane + &j) % 3 != 1 {
                array.scatter_reduce(ReduceOp::Mul, &(x * (&i + &j + 1).cast::<f64>()), &((&lane + &j) % 4));
            }
            j += 1;
        }
        i += 1;
    }
    array
}

/// The inner loop provides a state, too, which further loops need without the products.
#[jit]
fn products_of_changing_values_in_nested_loops(x: &F) -> F {
    let lane = UInt::arange(x.width());
    let mut array = x.slice(0..4) * 1.0 + 0.5;
    let (mut y, mut i) = (x.clone(), UInt::from(0));
    while i < 2 {
        let mut j = UInt::from(0);
        while j < 2 {
            if y > 0.0 {
                array.scatter_reduce(ReduceOp::Mul, (&y * 0.5 + 1.1).sin(), &((&lane + &j) % 4));
            }
            y = (&y * x + 0.3).cos();
            j += 1;
        }
        i += 1;
    }
    array
}

#[jit]
fn products_in_a_loop_in_a_branch(x: &F) -> F {
    let lane = UInt::arange(x.width());
    let (mut array, mut total) = (x.slice(0..4) * 1.0 + 0.5, x * 0.5);
    let mut i = UInt::from(0);
    while i < 2 {
        if (&lane + &i) % 3 != 1 {
            let mut j = UInt::from(0);
            while j < 2 {
                array.scatter_reduce(ReduceOp::Mul, &total + 1.0, &((&lane + &j) % 4));
                total = (&total * x + 0.7).sin();
                j += 1;
            }
        }
        i += 1;
    }
    F::concat(&[array, total])
}

#[test]
fn second_derivatives_of_products_in_nested_loops_used_the_array_that_they_write() {
    check("products in a branch of nested loops", &products_in_a_branch_of_nested_loops, &VALUES);
    check("products of changing values", &products_of_changing_values_in_nested_loops, &VALUES);
    check("products in a loop in a branch", &products_in_a_loop_in_a_branch, &VALUES);
}
