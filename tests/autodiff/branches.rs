//! Branches that lanes decide, with the numbers of `docs/conformance.md`.

use jit::ad;
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

fn grad(x: &Float) -> Vec<f32> {
    x.grad().to_vec().unwrap()
}

#[jit]
fn by_branch(x: &Float, bound: f32) -> Float {
    let mut y = x * 2.0;
    if x < bound {
        y *= 2.0;
    } else {
        y *= 3.0;
    }
    y
}

// rows: A170
#[test]
fn gradients_flow_back_through_a_branch() {
    on_each_device(|| {
        let x = variable(&[0.0, 1.0, 2.0, 3.0, 4.0]);
        by_branch(&x, 2.0).backward().unwrap();
        assert_eq!(grad(&x), [4.0, 4.0, 6.0, 6.0, 6.0]);
        let tangent = ad::jvp(|x: &Float| by_branch(x, 2.0), &x.detach(), &Float::from(1.0)).unwrap().1;
        assert_eq!(tangent.to_vec().unwrap(), [4.0, 4.0, 6.0, 6.0, 6.0]);
        // A branch that the host decides.
        x.clear_grad();
        by_branch(&x, 100.0).backward().unwrap();
        assert_eq!(grad(&x), [4.0; 5]);
    });
}

#[jit]
fn gathered(table: &Float, index: &UInt, is_on: &Mask) -> Float {
    let mut y = Float::from(0.0);
    if is_on {
        y = table.gather(index) * 4.0;
    } else {
        y = table.gather(index) * 6.0;
    }
    y
}

// rows: A171 A172
#[test]
fn branches_gather_from_variables() {
    on_each_device(|| {
        let index = UInt::arange(5);
        let mask = Mask::from([true, true, false, false, false]);
        for width in [5, 6] {
            for is_evaluated in [false, true] {
                let x = variable(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..width]);
                let table = &x * 1.0;
                if is_evaluated {
                    jit::eval(&table).unwrap();
                }
                gathered(&table, &index, &mask).backward().unwrap();
                assert_eq!(grad(&x), [4.0, 4.0, 6.0, 6.0, 6.0, 0.0][..width]);
            }
        }
    });
}

#[jit]
fn nested(x: &Float) -> Float {
    let mut y = x.clone();
    if x < 2.0 {
        y *= 10.0;
    } else {
        if x < 4.0 {
            y *= 100.0;
        } else {
            y *= 1000.0;
        }
    }
    y
}

// rows: A173 A176
#[test]
fn branches_nest() {
    on_each_device(|| {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let wanted = [10.0, 10.0, 100.0, 100.0, 1000.0, 1000.0];
        let x = variable(&values);
        nested(&x).backward().unwrap();
        assert_eq!(grad(&x), wanted);
        let x = variable(&values);
        let y = nested(&x);
        x.set_grad(&Float::from(1.0));
        assert_eq!(ad::forward_to(&y).unwrap().to_vec().unwrap(), wanted);
        assert_eq!(grad(&x), [1.0; 6]);
    });
}

#[jit]
fn with_captured(x: &Float, y: &Float) -> Float {
    let mut z = Float::from(0.0);
    if x < 5.0 {
        z = x * y;
    } else {
        z = x - y;
    }
    z
}

// rows: A174 A177 A182 A183
#[test]
fn values_that_a_branch_only_reads_get_gradients() {
    on_each_device(|| {
        let x = Float::arange(10);
        let y = variable(&[3.0]);
        y.set_grad(&Float::from(1.0));
        with_captured(&x, &y).backward().unwrap();
        assert_eq!(grad(&y), [6.0]);
        let tangent = ad::jvp(|y: &Float| with_captured(&x, y), &Float::from(3.0), &Float::from(1.0)).unwrap().1;
        assert_eq!(tangent.to_vec().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
        // As wide as the branch.
        let wide = variable(&[1.0, 2.0, 3.0]);
        with_captured(&Float::from([1.0, 1.0, 7.0]), &wide).backward().unwrap();
        assert_eq!(grad(&wide), [1.0, 1.0, -1.0]);
        // Two values, one of which has a tangent.
        let (a, b) = (variable(&[2.0]), variable(&[5.0]));
        let sum = with_captured(&(Float::from([3.0, 3.0]) * &b.detach()), &a) * 0.0
            + with_captured(&Float::from([3.0, 3.0]), &(&a * &b * 0.0 + &a));
        a.set_grad(&Float::from(1.0));
        assert_eq!(ad::forward_to(&sum).unwrap().to_vec().unwrap(), [3.0, 3.0]);
    });
}

#[jit]
fn scattered(target: &mut Float, x: &Float, index: &UInt) {
    if x < 2.0 {
        target.scatter_add(x * 10.0, index);
    } else {
        target.scatter_add(x * 100.0, index);
    }
}

// rows: A175 A178
#[test]
fn branches_scatter_and_gather_inside_of_each_other() {
    #[jit]
    fn twice_gathered(table: &Float, x: &Float) -> Float {
        let mut y = Float::from(0.0);
        if x < 8.0 {
            if x < 4.0 {
                y = table.gather(&x.cast::<u32>());
            }
        }
        y
    }
    on_each_device(|| {
        let table = variable(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        twice_gathered(&table, &Float::arange(10)).backward().unwrap();
        assert_eq!(grad(&table).iter().sum::<f32>(), 4.0);
        let x = variable(&[0.0, 1.0, 2.0, 3.0]);
        let mut target = Float::zeros(3);
        scattered(&mut target, &x, &UInt::from([0, 1, 1, 2]));
        assert_eq!(target.to_vec().unwrap(), [0.0, 210.0, 300.0]);
        target.set_grad(&Float::from([1.0, 2.0, 3.0]));
        ad::backward_from(&target).unwrap();
        assert_eq!(grad(&x), [10.0, 20.0, 200.0, 300.0]);
    });
}

#[jit]
fn newton(x: &Float) -> Float {
    let (mut y, mut i) = (x.clone() * 0.5 + 0.5, x.zeros_like().cast::<u32>());
    #[evaluated]
    while i < 12 {
        y = (&y + x / &y) * 0.5;
        i += 1;
    }
    y
}

// rows: A145
#[test]
fn evaluated_loops_have_derivatives_in_both_modes() {
    on_each_device(|| {
        let values = [0.5_f32, 1.0, 2.0, 9.0];
        let x = variable(&values);
        newton(&x).backward().unwrap();
        let wanted = values.map(|x| 0.5 / x.sqrt());
        let close = |got: &[f32]| got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-5);
        assert!(close(&grad(&x)), "{:?}", grad(&x));
        let tangent = ad::jvp(newton, &x.detach(), &Float::from(1.0)).unwrap().1.to_vec().unwrap();
        assert!(close(&tangent), "{tangent:?}");
    });
}

#[jit]
fn backward_inside(at: &Float, y: &Float, has_second: bool) {
    if at < 2.0 {
        (y * 2.0).backward().expect("it depends on a variable");
    } else {
        if has_second {
            (y * 3.0).backward().expect("it depends on a variable");
        }
    }
}

// rows: A168 A179
#[test]
fn a_traversal_in_a_branch_is_that_of_its_lanes() {
    on_each_device(|| {
        let at = Float::arange(5);
        for (has_second, wanted) in [(true, [4.0, 4.0, 6.0, 6.0, 6.0]), (false, [4.0, 4.0, 0.0, 0.0, 0.0])] {
            let x = variable(&[1.0, 2.0, 3.0, 4.0, 5.0]);
            let y = &x * 2.0;
            backward_inside(&at, &y, has_second);
            assert_eq!(grad(&x), wanted);
            // What began outside is not released: other arms use it.
            y.backward().unwrap();
            assert_eq!(grad(&x)[0], 6.0);
        }
        // A value of width 1 counts if any lane is there.
        let x = variable(&[3.0]);
        backward_inside(&at, &(&x * &x), true);
        assert_eq!(grad(&x), [30.0]);
        let x = variable(&[3.0]);
        backward_inside(&(at + 10.0), &(&x * &x), true);
        assert_eq!(grad(&x), [18.0]);
    });
}

#[jit]
fn tangents_inside(at: &Float, y: &Float) -> Float {
    let mut tangent = Float::from(0.0);
    if at < 2.0 {
        tangent = ad::forward_to(&(y * 2.0)).expect("it depends on a variable");
    } else {
        tangent = ad::forward_to(&(y * 3.0)).expect("it depends on a variable");
    }
    tangent
}

// rows: A169
#[test]
fn tangents_are_read_in_branches() {
    on_each_device(|| {
        let x = variable(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        x.set_grad(&Float::from(1.0));
        let tangent = tangents_inside(&Float::arange(5), &(&x * 2.0));
        assert_eq!(tangent.to_vec().unwrap(), [4.0, 4.0, 6.0, 6.0, 6.0]);
    });
}
