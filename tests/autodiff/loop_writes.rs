//! Loops in which several scatters and inner loops write to one array, or read one: first and second derivatives.

use jit::prelude::*;
use jit::{Float64, ad};

use crate::{assert_close, check_function, check_second, on_each_device};

type Function = fn(&Float64) -> Float64;

/// Checks first derivatives in both modes, and second ones in both orders.
#[track_caller]
pub(crate) fn check_both_orders(name: &str, function: &dyn Fn(&Float64) -> Float64, x: &[f64]) {
    check_function(name, function, x);
    check_second(name, function, x);
    let loss = |x: &Float64| {
        let y = function(x);
        (&y * &y * (1.0 + Float64::arange(y.len()))).sum()
    };
    let (x, direction) = (Float64::from(x), Float64::from((0..x.len()).map(|i| i as f64 + 0.5).collect::<Vec<_>>()));
    let slope = |x: &Float64| (ad::grad(loss)(x).unwrap() * &direction).sum();
    let [forward, reverse] = [ad::hvp(loss, &x, &direction), ad::grad(slope)(&x)];
    assert_close(&forward.unwrap().to_vec().unwrap(), &reverse.unwrap().to_vec().unwrap(), 1e-9);
}

#[track_caller]
fn check_all(functions: &[(&str, Function)], x: &[f64]) {
    on_each_device(|| functions.iter().for_each(|(name, function)| check_both_orders(name, function, x)));
}

#[jit]
fn twice(x: &Float64) -> Float64 {
    let mut h = Float64::ones(3);
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        let mut q = UInt::from(0);
        while q < 1 {
            q += 1;
            h[q] += x;
        }
        let mut j = UInt::from(0);
        while j < 1 {
            j += 1;
            h[j] += x;
        }
    }
    h
}

#[test]
fn tangents_of_two_inner_loops_that_add_to_one_array() {
    on_each_device(|| {
        let x = Float64::from([0.5, 1.2, 0.1]);
        let loss = |x: &Float64| (twice(x).square() * (1.0 + Float64::arange(3))).sum();
        // The second element is 1 + 4 · 1.8, and 2 · 2 · 8.2 · 4 its derivative by each of three lanes.
        let tangent = ad::jvp(loss, &x, &Float64::ones(3)).unwrap().1;
        assert_close(&tangent.to_vec().unwrap(), &[393.6], 1e-12);
        assert_close(&ad::grad(loss)(&x).unwrap().to_vec().unwrap(), &[131.2; 3], 1e-12);
        let product = ad::hvp(loss, &x, &Float64::ones(3)).unwrap();
        assert_close(&product.to_vec().unwrap(), &[192.0; 3], 1e-12);
    });
}

#[jit]
fn guarded(x: &Float64) -> Float64 {
    let mut h = Float64::ones(4);
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        if *x > 0.3 {
            let mut q = UInt::from(0);
            while q < 2 {
                q += 1;
                h[q] += x.sin();
            }
        }
        if *x < 1.0 {
            let mut j = UInt::from(0);
            while j < 2 {
                j += 1;
                h[i] += x.cos();
            }
        }
    }
    h
}

#[jit]
fn multiplied(x: &Float64) -> Float64 {
    let mut h = x.slice(0..4) + 2.0;
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        h.scatter_reduce(ReduceOp::Mul, x * 0.5 + 0.6, &i);
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            h.scatter_reduce(ReduceOp::Mul, x.sin() * 0.3 + 0.8, &q);
        }
        let mut j = UInt::from(0);
        while j < 2 {
            j += 1;
            h.scatter_reduce(ReduceOp::Mul, x.cos() * 0.5 + 0.5, &i);
        }
    }
    h
}

#[jit]
fn highest(x: &Float64) -> Float64 {
    let mut h = x.slice(0..4) + 0.1;
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        h.scatter_reduce(ReduceOp::Max, x.cos() * 2.0 + &i.cast::<f64>(), &i);
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            h.scatter_reduce(ReduceOp::Max, x.sin() * 3.0 + (&q * 2 + &i).cast::<f64>(), &q);
        }
    }
    h
}

#[jit]
fn two_arrays(x: &Float64) -> Float64 {
    let (mut h, mut g) = (Float64::zeros(4), Float64::ones(4));
    let mut y = x.clone();
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        h[&i] += &y;
        for q in 0..UInt::from(2) {
            g.scatter_reduce(ReduceOp::Mul, &y * 0.2 + 1.0, &(&q + &i));
            y = y.sin() + 0.1;
            h[&q] += &y * &y;
        }
        g.scatter_reduce(ReduceOp::Mul, x * 0.2 + 1.0, &i);
        for q in 0..&i {
            h[&q] += &y;
            g.scatter_reduce(ReduceOp::Mul, x * 0.1 + 1.0, &q);
        }
    }
    h * g
}

#[test]
fn inner_loops_that_write_to_one_array() {
    let functions: &[(&str, Function)] = &[
        ("twice", twice),
        ("guarded", guarded),
        ("multiplied", multiplied),
        ("highest", highest),
        ("two arrays", two_arrays),
    ];
    check_all(functions, &[0.5, 1.2, 0.1, 0.8]);
}

#[jit]
fn before_a_loop(x: &Float64) -> Float64 {
    let mut h = Float64::ones(4);
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        h[i] += x.cos();
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            h[q] += x.sin();
        }
        h[i + 1] += x * x;
    }
    h
}

#[jit]
fn in_a_branch(x: &Float64) -> Float64 {
    let mut h = Float64::ones(4);
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        if *x > 0.3 {
            h[i] += x.sin();
        }
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            h[q] += x.cos();
        }
    }
    h
}

#[jit]
fn in_arms(x: &Float64) -> Float64 {
    let mut h = Float64::ones(4);
    let mut i = UInt::from(0);
    while i < 2 {
        i += 1;
        match UInt::arange(x.width()) % 3 {
            0 => {
                let mut q = UInt::from(0);
                while q < 2 {
                    q += 1;
                    h[q + 1] += x * x * x;
                }
            }
            1 => {
                h[i] += x * 3.0;
            }
            _ => {
                let mut q = UInt::from(0);
                while q < 2 {
                    q += 1;
                    h[q] += x * x;
                }
            }
        }
    }
    h
}

#[test]
fn scatters_before_inner_loops_that_write_to_the_same_array() {
    let functions: &[(&str, Function)] =
        &[("before a loop", before_a_loop), ("in a branch", in_a_branch), ("in arms", in_arms)];
    check_all(functions, &[0.5, 1.2, 0.1, 0.8]);
}

/// Numbers of iterations that differ by lane.
fn counts() -> UInt {
    UInt::from([2, 1, 3, 4, 2])
}

#[jit]
fn siblings(x: &Float64) -> Float64 {
    let k = &counts();
    let mut a = 0.3 + (k as f64) * 0.0;
    let mut i = UInt::from(0);
    while i < k {
        i += 1;
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            a = a * 0.5 + x[q].sin() * a;
        }
        let mut j = UInt::from(0);
        while j < 2 {
            j += 1;
            a = a * 0.5 + (x[j + 1] * a).cos();
        }
    }
    a
}

#[jit]
fn after_a_loop(x: &Float64) -> Float64 {
    let k = &counts();
    let mut a = 0.3 + (k as f64) * 0.0;
    let mut i = UInt::from(0);
    while i < k {
        i += 1;
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            a = a * 0.5 + x[q].sin() * a;
        }
        a = a * 0.5 + (x[i % 4] * a).cos();
    }
    a
}

#[jit]
fn three_levels(x: &Float64) -> Float64 {
    let k = &counts();
    let mut a = 0.3 + (k as f64) * 0.0;
    let mut i = UInt::from(0);
    while i < k {
        i += 1;
        let mut q = UInt::from(0);
        while q < 2 {
            q += 1;
            let mut j = UInt::from(0);
            while j < 2 {
                j += 1;
                a = a * 0.5 + (x[j + 1] * a).cos();
            }
            a = a * 0.5 + (x[k % 4] * a).cos();
        }
    }
    a
}

#[jit]
fn gathers_and_adds(x: &Float64) -> Float64 {
    let k = &counts();
    let mut h = Float64::zeros(5);
    let mut a = x.slice(0..1) * Float64::ones(5);
    let mut i = UInt::from(0);
    while i < k {
        i += 1;
        a += a.sin() * 0.1;
        let mut j = UInt::from(0);
        while j < k {
            j += 1;
            h[i] += x[j % 4];
        }
    }
    a + h * (&h)
}

#[jit]
fn states_and_adds_inside(x: &Float64) -> Float64 {
    let k = &counts();
    let mut h = Float64::zeros(5);
    let mut a = x.slice(0..1) * Float64::ones(5);
    let mut i = UInt::from(0);
    while i < k {
        i += 1;
        let mut j = UInt::from(0);
        while j < k {
            j += 1;
            h[i] += x[j % 4];
            a += a.sin() * 0.1;
        }
    }
    a + h * (&h)
}

#[test]
fn second_derivatives_of_gathers_in_several_inner_loops() {
    let functions: &[(&str, Function)] = &[
        ("siblings", siblings),
        ("after a loop", after_a_loop),
        ("three levels", three_levels),
        ("gathers and adds", gathers_and_adds),
        ("states and adds inside", states_and_adds_inside),
    ];
    check_all(functions, &[0.5, 1.2, 0.1, -0.7]);
}

#[jit]
fn own_elements(x: &Float64) -> Float64 {
    let mut h = Float64::zeros(20);
    let lane = UInt::arange(x.width());
    let mut i = UInt::from(0);
    while i < 3 {
        let value = (x * (1.0 + i as f64 * 0.3)).sin();
        h[lane * 3 + i] = value;
        i += 1;
    }
    h * (&h)
}

/// Elements keep what they had, or are overwritten several times, by equal values too.
#[jit]
fn shared_elements(x: &Float64) -> Float64 {
    let mut h = x.repeat(3).exp();
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    let mut i = UInt::from(0);
    while i < 6 {
        i += 1;
        y = (&y * x + 0.1).sin();
        if i < 5 {
            h.scatter(&y * &y, &(&lane * 2 + &i / 3));
        }
        h.scatter(x * x, &(&lane + 7));
    }
    h * (&h)
}

#[jit]
fn in_inner_loops(x: &Float64) -> Float64 {
    let mut h = x.repeat(3) + 1.0;
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    for i in 0..&lane + 1 {
        for j in 0..3 - &lane % 2 {
            y = (&y * x + 0.1).sin();
            h.scatter(&y * &y, &(&lane * 3 + (&i + j) % 3));
        }
    }
    h * (&h)
}

/// Lanes share the loop and what it writes.
#[jit]
fn of_all_lanes(x: &Float64) -> Float64 {
    let mut h = Float64::ones(3);
    let mut y = x.sum();
    let mut i = UInt::from(0);
    while i < 4 {
        y = y.sin();
        h.scatter(&y, &(&i % 2));
        i += 1;
    }
    h * x.slice(0..3)
}

/// Several inner loops and the body around them overwrite elements.
#[jit]
fn in_several_loops(x: &Float64) -> Float64 {
    let mut h = x.repeat(2) + 1.0;
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    let mut i = UInt::from(0);
    while i < 3 {
        for j in 0..&lane % 3 {
            y = (&y * x + 0.1).sin();
            h.scatter(&y * &y, &(&lane * 2 + (&i + j) % 2));
        }
        h.scatter(&y * x, &(&lane * 2 + &i % 2));
        let mut k = UInt::from(0);
        while k < &i % 2 + 1 {
            if x > 0.3 {
                h.scatter(x * x + i as f64, &(&lane * 2 + &k));
            }
            k += 1;
        }
        i += 1;
    }
    h * (&h)
}

/// An inner loop that writes constants, between two others.
#[jit]
fn by_constants_between(x: &Float64) -> Float64 {
    let mut h = Float64::ones(4);
    let lane = UInt::arange(x.width());
    let mut i = UInt::from(0);
    while i < 2 {
        for j in 0..2 {
            h.scatter(x * (1.0 + j as f64), &((&lane + j) % 4));
        }
        for j in 0..&lane % 2 + 1 {
            h.scatter(3.0 + j as f64, &((&lane + &j) % 4));
        }
        for _ in 0..1 - &lane % 2 {
            h.scatter(x.exp() + i as f64, &lane);
        }
        i += 1;
    }
    h * (&h)
}

#[test]
fn loops_that_overwrite_elements() {
    let functions: &[(&str, Function)] = &[
        ("own elements", own_elements),
        ("shared elements", shared_elements),
        ("in inner loops", in_inner_loops),
        ("of all lanes", of_all_lanes),
        ("in several loops", in_several_loops),
        ("by constants between", by_constants_between),
    ];
    check_all(functions, &[0.5, 1.2, 0.1, -0.7]);
}

/// One write of several with an equal value gets the gradient.
#[test]
fn one_of_equal_values_gets_the_gradient_of_an_element() {
    #[jit]
    fn equal(x: &Float64) -> Float64 {
        let mut h = Float64::zeros(2);
        let mut i = UInt::from(0);
        while i < 3 {
            i += 1;
            h.scatter(x * 2.0, &UInt::from(1));
        }
        h
    }
    on_each_device(|| {
        let gradient = ad::grad(|x: &Float64| equal(x).sum())(&Float64::full(0.5, 4)).unwrap().to_vec().unwrap();
        assert_eq!(gradient.iter().sum::<f64>(), 2.0);
        assert_eq!(gradient.iter().filter(|&&of| of == 0.0).count(), 3);
    });
}
