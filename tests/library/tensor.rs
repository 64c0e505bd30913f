//! Tensors against plain Rust and results of NumPy 2.

use jit::prelude::*;
use jit::tensor::{Edge, Ellipsis, IntoIndex, Shape};
use proptest::prelude::*;

use crate::devices::on_each_device;
use crate::misuse::message_of;

/// A tensor of plain Rust.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    shape: Vec<usize>,
    values: Vec<i32>,
}

impl Plain {
    fn arange(shape: &[usize]) -> Self {
        Plain { shape: shape.to_vec(), values: (0..shape.iter().product::<usize>() as i32).collect() }
    }

    fn of(tensor: &Tensor<i32>) -> Self {
        Plain { shape: tensor.shape().to_vec(), values: tensor.to_vec().unwrap() }
    }

    fn tensor(&self) -> Tensor<i32> {
        Tensor::from_array(self.values.clone(), &self.shape)
    }

    /// The tensor whose elements come from the positions that a function returns.
    fn from_fn(shape: &[usize], value: impl Fn(&[usize]) -> i32) -> Self {
        let values = (0..shape.iter().product()).map(|number| value(&unravel(number, shape)));
        Plain { shape: shape.to_vec(), values: values.collect() }
    }

    fn at(&self, coordinates: &[usize]) -> i32 {
        self.values[coordinates.iter().zip(&self.shape).fold(0, |number, (at, length)| number * length + at)]
    }
}

fn unravel(mut number: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, length) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = number % length;
        number /= length;
    }
    coordinates
}

fn shapes(most: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..5, 0..=most)
}

#[test]
fn shapes_are_checked_and_inferred() {
    let x = Tensor::<i32>::arange([2, 3, 4]);
    assert_eq!((x.shape(), x.ndim(), x.len()), (&[2, 3, 4][..], 3, 24));
    assert_eq!(x.reshape([4, -1]).shape(), [4, 6]);
    assert_eq!(x.reshape(24usize).shape(), [24]);
    assert_eq!(x.ravel().array().to_vec().unwrap(), (0..24).collect::<Vec<_>>());
    assert_eq!(Tensor::from(7).shape(), [0usize; 0]);
    assert_eq!(Tensor::from_array([1, 2, 3, 4], [2, 2]).to_vec().unwrap(), [1, 2, 3, 4]);
    assert!(message_of(|| x.reshape([5, -1])).contains("no length makes 24 elements fill the shape [5, -1]"));
    assert!(message_of(|| x.reshape([-1, -1])).contains("has more than one unknown length"));
    assert!(message_of(|| x.reshape([5, 5])).contains("24 elements do not fill the shape [5, 5]"));
    let message = message_of(|| Tensor::from_array([1, 2, 3], [2, 2]));
    assert!(message.contains("3 elements do not fill") && message.contains("tensor.rs"), "{message}");
}

#[test]
fn nested_lists_must_be_even() {
    assert_eq!(Tensor::from(vec![vec![1u8, 2], vec![3, 4]]).shape(), [2, 2]);
    assert_eq!(Tensor::from([[[1.0f32]; 2]; 3]).shape(), [3, 2, 1]);
    assert_eq!(Tensor::<f32>::from(Vec::<f32>::new()).shape(), [0]);
    assert!(message_of(|| Tensor::from(vec![vec![1], vec![2, 3]])).contains("different lengths"));
}

#[test]
fn constructors() {
    on_each_device(|| {
        assert_eq!(Tensor::<f32>::eye(2, 3).to_vec().unwrap(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(Tensor::full(2u8, [2, 2]).to_vec().unwrap(), [2; 4]);
        assert_eq!(Tensor::linspace(0.0f64, 1.0, 3).to_vec().unwrap(), [0.0, 0.5, 1.0]);
        assert_eq!(Tensor::<i32>::zeros([0, 3]).to_vec().unwrap(), [0i32; 0]);
        assert_eq!(Tensor::<u32>::from_fn([2, 2], |at| &at[0] * 10 + &at[1]).to_vec().unwrap(), [0, 1, 10, 11]);
    });
}

#[test]
fn operators_broadcast_with_tensors_arrays_and_numbers() {
    on_each_device(|| {
        let (column, row) = (Tensor::from([[1.0f32], [2.0]]), Tensor::from([10.0f32, 20.0, 30.0]));
        let sum = &column + &row;
        assert_eq!((sum.shape(), sum.to_vec().unwrap()), (&[2, 3][..], vec![11.0, 21.0, 31.0, 12.0, 22.0, 32.0]));
        assert_eq!((2.0 * &column).to_vec().unwrap(), [2.0, 4.0]);
        assert_eq!((2 * &column - 1).to_vec().unwrap(), [1.0, 3.0]);
        assert_eq!((&row * Float::from(2.0)).to_vec().unwrap(), [20.0, 40.0, 60.0]);
        assert_eq!((Float::from([1.0, 2.0, 3.0]) + &column).shape(), [2, 3]);
        assert_eq!((Tensor::from([5i32, 7]) % 4).to_vec().unwrap(), [1, 3]);
        assert_eq!((Tensor::from([5i32, 6]) & Tensor::from(4)).to_vec().unwrap(), [4, 4]);
        assert_eq!((Tensor::from([1i32, 2]) << 3).to_vec().unwrap(), [8, 16]);
        assert_eq!((!Tensor::from([true, false])).to_vec().unwrap(), [false, true]);
        assert_eq!((-&row).to_vec().unwrap(), [-10.0, -20.0, -30.0]);
        let mut table = Tensor::<f32>::zeros([2, 3]);
        table += &row;
        table *= 2.0;
        assert_eq!(table.to_vec().unwrap(), [20.0, 40.0, 60.0, 20.0, 40.0, 60.0]);
        assert_eq!((Tensor::<f32>::zeros([0, 3]) + &row).shape(), [0, 3]);
        assert_eq!((Tensor::from(1.0f32) + Tensor::from([[2.0f32]])).shape(), [1, 1]);
    });
}

#[test]
fn numbers_of_a_list_are_operands() {
    on_each_device(|| {
        let tensors = [Tensor::from([[1.0f32, 2.0]]), Tensor::from([[10.0f32], [20.0]])];
        let mut sum = Tensor::<f32>::zeros([2, 2]);
        for (weight, tensor) in [2.0f32, 0.5].iter().zip(&tensors) {
            sum += weight * tensor;
        }
        assert_eq!(sum.to_vec().unwrap(), [7.0, 9.0, 12.0, 14.0]);
        for weight in &[0.5f32, 2.0] {
            sum *= weight;
        }
        assert_eq!([1.0f32].iter().map(|one| &sum - one).next().unwrap().to_vec().unwrap(), [6.0, 8.0, 11.0, 13.0]);
    });
}

#[test]
fn shapes_that_do_not_broadcast_are_named() {
    let (a, b) = (Tensor::<f32>::zeros([2, 3]), Tensor::<f32>::zeros([2, 4]));
    let (line, message) = (line!(), message_of(|| &a + &b));
    for part in ["[2, 3]", "[2, 4]", "axis −1", "3", "4", &format!("tensor.rs:{line}")] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    let (mut pair, mut row) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1.0f32, 2.0, 3.0]));
    let message = message_of(|| pair += &a);
    assert!(message.contains("axis −1 has length 2"), "{message}");
    let message = message_of(|| row += &a);
    assert!(message.contains("in place"), "{message}");
    assert!(message_of(|| a.broadcast_to([3, 3])).contains("does not broadcast to shape [3, 3]"));
}

#[test]
fn functions_and_comparisons_broadcast() {
    on_each_device(|| {
        let (x, y) = (Tensor::from([[1.0f32, 4.0], [9.0, 16.0]]), Tensor::from([2.0f32, 10.0]));
        assert_eq!(x.sqrt().to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(x.min(&y).to_vec().unwrap(), [1.0, 4.0, 2.0, 10.0]);
        assert_eq!(x.mul_add(2.0, &y).to_vec().unwrap(), [4.0, 18.0, 20.0, 42.0]);
        assert_eq!(x.clamp(2.0, 10.0).to_vec().unwrap(), [2.0, 4.0, 9.0, 10.0]);
        assert_eq!(x.lt(&y).to_vec().unwrap(), [true, true, false, false]);
        assert_eq!(x.gt(4.0).select(&y, -1.0).to_vec().unwrap(), [-1.0, -1.0, 2.0, 10.0]);
        let sums = x.zip_with(&y, |x, y| x + y);
        assert_eq!(sums.to_vec().unwrap(), [3.0, 14.0, 11.0, 26.0]);
        assert_eq!(
            x.zip_with2(&y, &Tensor::from(1.0f32), |x, y, z| x + y + z).to_vec().unwrap(),
            [4.0, 15.0, 12.0, 27.0]
        );
    });
    let x = Tensor::from([1.0f32, 2.0]);
    assert!(
        message_of(|| x.map(|x| x.gather(&UInt::arange(1).zeros_like()) + Float::zeros(3)))
            .contains("returned 3 elements")
    );
}

#[test]
fn functions_of_arrays_are_functions_of_tensors() {
    on_each_device(|| {
        let (x, y) = (Tensor::from([[1.5f32, -2.25], [0.0, f32::INFINITY]]), Tensor::from([2.0f32, -0.5]));
        assert_eq!(x.square().to_vec().unwrap(), [2.25, 5.0625, 0.0, f32::INFINITY]);
        assert_eq!(x.slice(s![0]).fract().to_vec().unwrap(), [0.5, -0.25]);
        assert_eq!(x.is_finite().to_vec().unwrap(), [true, true, true, false]);
        assert_eq!(x.is_sign_negative().shape(), [2, 2]);
        assert_eq!(x.slice(s![0]).rem_euclid(&y).to_vec().unwrap(), [1.5, 0.25]);
        assert_eq!(x.slice(s![0]).div_euclid(&y).to_vec().unwrap(), [0.0, 5.0]);
        assert_eq!(x.step(&y).to_vec().unwrap(), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(x.lerp(&y, 0.0).to_vec().unwrap()[..3], [1.5, -2.25, 0.0]);
        let n = Tensor::from([[1_u32, 6], [8, 255]]);
        assert_eq!(n.count_ones().to_vec().unwrap(), [1, 2, 1, 8]);
        assert_eq!(n.ilog2().to_vec().unwrap(), [0, 2, 3, 7]);
        assert_eq!(n.is_power_of_two().to_vec().unwrap(), [true, false, true, false]);
        assert_eq!(n.rotate_left(Tensor::from([[31_u32], [1]])).to_vec().unwrap(), [1 << 31, 3, 16, 510]);
        assert_eq!(n.div_ceil(4).to_vec().unwrap(), [1, 2, 2, 64]);
        assert_eq!(n.abs_diff(7).to_vec().unwrap(), [6, 1, 1, 248]);
    });
}

#[test]
fn identity_layouts_are_the_same_array() {
    let x = Tensor::<f32>::arange([4, 6]) + 1.0;
    let same = |y: &Tensor<f32>| y.array().var().is_same(x.array().var());
    assert!(same(&x.reshape([6, 4])));
    assert!(same(&x.slice(s![.., ..])));
    assert!(same(&x.expand_dims(1).move_axis(1, 2).squeeze(2)));
    assert!(same(&x.roll(6, 1)));
    assert!(!same(&x.transpose()));
    assert!(same(&x.broadcast_to([4, 6])));
    assert!(same(&x.tile(&[1, 1])));
}

#[test]
fn chains_of_layouts_evaluate_nothing() {
    on_each_device(|| {
        let x = Tensor::from_array((0..24).collect::<Vec<i32>>(), [2, 3, 4]);
        let y = x.transpose().slice(s![1.., .., 0]).flip(0).roll(1, 1).pad(&[(0, 0), (1, 1)], Edge::Wrap);
        let y = y.expand_dims(0).broadcast_to([2, 3, 5]);
        assert!(!y.array().is_evaluated());
        let wanted = [7, 11, 3, 7, 11, 6, 10, 2, 6, 10, 5, 9, 1, 5, 9];
        assert_eq!(y.to_vec().unwrap(), [wanted, wanted].concat());
    });
}

#[test]
fn axes_are_moved_as_by_numpy() {
    on_each_device(|| {
        let x = Tensor::<i32>::arange([2, 3, 4]);
        assert_eq!(x.move_axis(0, -1).shape(), [3, 4, 2]);
        assert_eq!(x.swap_axes(0, 2).shape(), [4, 3, 2]);
        assert_eq!(x.permute_axes([2, 0, 1]).shape(), [4, 2, 3]);
        assert_eq!(x.permute_axes([2, 0, 1]).slice(s![1, 1, ..]).to_vec().unwrap(), [13, 17, 21]);
        assert_eq!(x.expand_dims(-1).shape(), [2, 3, 4, 1]);
        assert_eq!(x.expand_dims(1).squeeze(1).shape(), [2, 3, 4]);
        assert_eq!(Tensor::<i32>::zeros([1, 2, 1]).squeeze(..).shape(), [2]);
        assert_eq!(Tensor::from([[1, 2], [3, 4]]).ravel_column_major().to_vec().unwrap(), [1, 3, 2, 4]);
    });
    let x = Tensor::<i32>::arange([2, 3, 4]);
    assert!(message_of(|| x.move_axis(3, 0)).contains("there is no axis 3 in a tensor of shape [2, 3, 4]"));
    assert!(message_of(|| x.permute_axes([0, 0, 1])).contains("axis 0 is named twice"));
    assert!(message_of(|| x.squeeze(1)).contains("has length 3, not 1"));
}

#[test]
fn indices_pick_as_in_numpy() {
    on_each_device(|| {
        let x = Tensor::<i32>::arange([3, 4, 5]);
        let check = |y: Tensor<i32>, shape: &[usize], values: &[i32]| {
            assert_eq!((y.shape(), y.to_vec().unwrap().as_slice()), (shape, values));
        };
        check(x.slice(s![1, 2, 3]), &[], &[33]);
        check(x.slice(s![-1, -1]), &[5], &[55, 56, 57, 58, 59]);
        check(x.slice(s![.., 0, 0]), &[3], &[0, 20, 40]);
        check(x.slice(s![0, 0, ..;-2]), &[3], &[4, 2, 0]);
        check(x.slice(s![0, 0, 3..0;-1]), &[3], &[3, 2, 1]);
        check(x.slice(s![0, 0, -3..-1]), &[2], &[2, 3]);
        check(x.slice(s![0, 0, ..=-2]), &[4], &[0, 1, 2, 3]);
        check(x.slice(s![0, 0, 3..100]), &[2], &[3, 4]);
        check(x.slice(s![0, 0, 4..1]), &[0], &[]);
        check(x.slice(s![Ellipsis, 1]).slice(s![0]), &[4], &[1, 6, 11, 16]);
        assert_eq!(x.slice(s![None, 0, Ellipsis, None]).shape(), [1, 4, 5, 1]);
        // Index arrays: a[[0, 2], :, 1], a[:, [0, 1], [2, 3]], a[[0, 1], :, [2, 3]], a[0, :, [2, 3]], a[:, i] with i of
        // two axes.
        check(x.slice(s![[0, 2], .., 1]), &[2, 4], &[1, 6, 11, 16, 41, 46, 51, 56]);
        check(x.slice(s![.., [0, 1], [2, 3]]), &[3, 2], &[2, 8, 22, 28, 42, 48]);
        check(x.slice(s![[0, 1], .., [2, 3]]), &[2, 4], &[2, 7, 12, 17, 23, 28, 33, 38]);
        check(x.slice(s![0, .., [2, 3]]), &[2, 4], &[2, 7, 12, 17, 3, 8, 13, 18]);
        let index = Tensor::from([[0, -1], [1, 1]]);
        let y = x.slice(s![.., &index, 0]);
        assert_eq!((y.shape(), &y.to_vec().unwrap()[..4]), (&[3, 2, 2][..], &[0, 15, 5, 5][..]));
        let (i, j) = (Tensor::from([[0u32], [2]]), UInt::from([1, 3]));
        check(x.slice(s![&i, &j, -1]), &[2, 2], &[9, 19, 49, 59]);
        check(x.take(1, [3, 0]).slice(s![0, .., 0]), &[2], &[15, 0]);
    });
}

#[test]
fn wrong_indices_are_explained() {
    let x = Tensor::<i32>::arange([2, 3]);
    let message = message_of(|| x.slice(s![0, 3]));
    assert!(message.contains("index 3 is outside of axis 1, which has length 3"), "{message}");
    assert!(message_of(|| x.slice(s![-3])).contains("index -3 is outside of axis 0"));
    assert!(message_of(|| x.slice(s![.., [0, 4]])).contains("index 4 is outside of axis 1"));
    assert!(message_of(|| x.slice(s![0, 0, 0])).contains("3 indices are too many"));
    assert!(message_of(|| x.slice(s![Ellipsis, Ellipsis])).contains("2 ellipses"));
    assert!(message_of(|| 1.into_index().stepped(2)).contains("cannot take the step 2"));
    assert!(message_of(|| (..).into_index().stepped(0)).contains("cannot take the step 0"));
}

// rows: C250 C252 C254 C255 C256 C257
#[test]
fn slices_are_assigned() {
    on_each_device(|| {
        let mut x = Tensor::<i32>::zeros([3, 4]);
        x.set(s![1], 7);
        x.set(s![.., 0..;2], Tensor::from([[1], [2], [3]]));
        x.set(s![-1, -1], 9);
        assert_eq!(x.to_vec().unwrap(), [1, 0, 1, 0, 2, 7, 2, 7, 3, 0, 3, 9]);
        x.set(s![0, ..;-1], [1, 2, 3, 4].map(|v| v * 10).as_slice().iter().copied().collect::<Int>());
        assert_eq!(x.slice(s![0]).to_vec().unwrap(), [40, 30, 20, 10]);
        x.set(s![[0, -1], [0, 3]], Tensor::from([5, 6]));
        x.set(s![1, &Int::from([2, -4])], 4);
        assert_eq!(x.to_vec().unwrap(), [5, 30, 20, 10, 4, 7, 4, 7, 3, 0, 3, 6]);
        let before = x.clone();
        x.set(s![.., UInt::from([1])], Tensor::from([[1], [2], [3]]));
        assert_eq!(x.slice(s![.., 1]).to_vec().unwrap(), [1, 2, 3]);
        assert_eq!(before.slice(s![.., 1]).to_vec().unwrap(), [30, 7, 0]);
        x.set(s![.., 2..2], 5);
        x.set(s![Ellipsis], 1);
        assert_eq!(x.to_vec().unwrap(), [1; 12]);
        let mask = x.array().gather(&UInt::arange(12)).eq(1) & UInt::arange(12).lt(5);
        x.set_where(&Tensor::from_array(mask, [3, 4]), 8);
        assert_eq!(x.to_vec().unwrap(), [8, 8, 8, 8, 8, 1, 1, 1, 1, 1, 1, 1]);
    });
    let mut x = Tensor::<i32>::zeros([3, 4]);
    let message = message_of(move || x.set(s![1], Tensor::from([1, 2, 3])));
    assert!(message.contains("shape [3] cannot be assigned to elements of shape [4]"), "{message}");
}

#[test]
fn joining_and_splitting() {
    on_each_device(|| {
        let (a, b) = (Tensor::from([[1, 2], [3, 4]]), Tensor::from([[5], [6]]));
        assert_eq!(Tensor::concat(&[&a, &b], 1).to_vec().unwrap(), [1, 2, 5, 3, 4, 6]);
        assert_eq!(Tensor::concat(&[&a, &Tensor::zeros([0, 2]), &a], 0).shape(), [4, 2]);
        assert_eq!(Tensor::stack(&[&a, &a], -1).to_vec().unwrap(), [1, 1, 2, 2, 3, 3, 4, 4]);
        let parts = a.split(2, 1);
        assert_eq!((parts[0].to_vec().unwrap(), parts[1].to_vec().unwrap()), (vec![1, 3], vec![2, 4]));
        let parts = Tensor::<i32>::arange(6usize).split_at(&[1, 4], 0);
        assert_eq!(parts.iter().map(Tensor::len).collect::<Vec<_>>(), [1, 3, 2]);
        assert_eq!(Tensor::from([1, 2, 3]).repeat_each(&[2, 0, 1], 0).to_vec().unwrap(), [1, 1, 3]);
    });
    let a = Tensor::from([[1, 2], [3, 4]]);
    assert!(message_of(|| Tensor::concat(&[&a, &Tensor::zeros([2, 3])], 0)).contains("cannot be joined along axis 0"));
    assert!(message_of(|| Tensor::<i32>::concat(&[] as &[Tensor<i32>], 0)).contains("no tensors"));
    assert!(message_of(|| a.split(3, 0)).contains("3 equal parts"));
}

#[test]
fn padding_as_in_numpy() {
    on_each_device(|| {
        let x = Tensor::from([1, 2, 3]);
        let pad = |edge| x.pad(&[(4, 3)], edge).to_vec().unwrap();
        assert_eq!(pad(Edge::Constant(9)), [9, 9, 9, 9, 1, 2, 3, 9, 9, 9]);
        assert_eq!(pad(Edge::Nearest), [1, 1, 1, 1, 1, 2, 3, 3, 3, 3]);
        assert_eq!(pad(Edge::Wrap), [3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
        assert_eq!(pad(Edge::Reflect), [1, 2, 3, 2, 1, 2, 3, 2, 1, 2]);
        assert_eq!(pad(Edge::Mirror), [3, 3, 2, 1, 1, 2, 3, 3, 2, 1]);
        let y = Tensor::from([[1, 2], [3, 4]]).pad(&[(1, 0), (0, 1)], Edge::Constant(0));
        assert_eq!(y.to_vec().unwrap(), [0, 0, 0, 1, 2, 0, 3, 4, 0]);
    });
}

#[jit]
fn escape_times(cx: &Tensor<f32>, cy: &Tensor<f32>) -> Tensor<u32> {
    let (mut x, mut y) = (cx.zeros_like(), cy.zeros_like());
    let mut n = Tensor::<u32>::zeros(cx.shape());
    while x * x + y * y < 4.0 && n < 50 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    if n == 50 {
        n = n.zeros_like();
    }
    n
}

#[test]
fn tensors_are_the_state_of_traced_control_flow() {
    on_each_device(|| {
        let grid = |axis| Tensor::from_fn([4, 5], |at| at[axis as usize].cast::<f32>() * 0.5 - 1.5);
        let (cx, cy) = (grid(1), grid(0));
        let (values_x, values_y) = (cx.to_vec().unwrap(), cy.to_vec().unwrap());
        let wanted = values_x.iter().zip(&values_y).map(|(cx, cy)| {
            let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
            while x * x + y * y < 4.0 && n < 50 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                n += 1;
            }
            n % 50
        });
        let n = escape_times(&cx, &cy);
        assert_eq!((n.shape(), n.to_vec().unwrap()), (&[4, 5][..], wanted.collect()));
    });
}

// rows: C196
#[test]
fn linear_interpolation_along_an_axis() {
    on_each_device(|| {
        let x = Tensor::from([[0.0f32, 1.0], [10.0, 3.0], [20.0, 7.0]]);
        let y = x.take_interp(0, &Float::from([0.25, 1.5, -3.0]));
        assert_eq!((y.shape(), y.to_vec().unwrap()), (&[3, 2][..], vec![2.5, 1.5, 15.0, 5.0, 0.0, 1.0]));
    });
}

proptest! {
    #![proptest_config(crate::seeds::config(60))]

    #[test]
    fn broadcasting_follows_the_rules(shape in shapes(4), ones in prop::collection::vec(any::<(bool, bool)>(), 4),
        drop in 0usize..4) {
        let masked = |pick: fn(&(bool, bool)) -> bool| -> Vec<usize> {
            shape.iter().zip(&ones).map(|(&length, one)| if pick(one) { 1 } else { length }).collect()
        };
        let (a, b) = (masked(|one| one.0), masked(|one| one.1));
        let a = Plain::arange(&a);
        let b = Plain::arange(&b[drop.min(b.len())..]);
        let common: Vec<usize> = (0..a.shape.len()).map(|axis| {
            let behind = a.shape.len() - axis;
            let other = b.shape.len().checked_sub(behind).map_or(1, |axis| b.shape[axis]);
            a.shape[axis].max(other)
        }).collect();
        let pick = |x: &Plain, at: &[usize]| {
            let at = &at[at.len() - x.shape.len()..];
            x.at(&at.iter().zip(&x.shape).map(|(&at, &length)| if length == 1 { 0 } else { at }).collect::<Vec<_>>())
        };
        let wanted = Plain::from_fn(&common, |at| pick(&a, at) * 100 + pick(&b, at));
        on_each_device(|| assert_eq!(Plain::of(&(a.tensor() * 100 + b.tensor())), wanted));
    }

    #[test]
    fn permutations_move_elements(shape in shapes(4), seed in any::<u64>()) {
        let x = Plain::arange(&shape);
        let mut order: Vec<usize> = (0..shape.len()).collect();
        order.sort_by_key(|&axis| (axis as u64 + 1).wrapping_mul(seed | 1) >> 7);
        let moved: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let wanted = Plain::from_fn(&moved, |at| {
            let mut source = vec![0; at.len()];
            order.iter().zip(at).for_each(|(&axis, &at)| source[axis] = at);
            x.at(&source)
        });
        on_each_device(|| assert_eq!(Plain::of(&x.tensor().permute_axes(order.clone())), wanted));
    }

    #[test]
    fn slices_read_and_write_the_same_elements(
        shape in prop::collection::vec(1usize..7, 1..4),
        ranges in prop::collection::vec((-8i32..8, -8i32..8, prop::sample::select(vec![-3isize, -2, -1, 1, 2, 3])), 3),
    ) {
        let x = Plain::arange(&shape);
        let picks: Vec<Vec<usize>> = shape.iter().zip(&ranges).map(|(&length, range)| python_range(length,
            *range)).collect();
        let indices: Vec<_> = ranges[..shape.len()].iter().map(|&(start, end,
            step)| (start..end).into_index().stepped(step)).collect();
        let lengths: Vec<usize> = picks.iter().map(Vec::len).collect();
        let source = |at: &[usize]| at.iter().zip(&picks).map(|(&at, picks)| picks[at]).collect::<Vec<_>>();
        let wanted = Plain::from_fn(&lengths, |at| x.at(&source(at)));
        let written = Plain::from_fn(&shape, |at| {
            let place = at.iter().zip(&picks).map(|(at,
                picks)| picks.iter().position(|pick| pick == at)).collect::<Option<Vec<_>>>();
            place.map_or(x.at(at), |place| -1 - place.iter().zip(&lengths).fold(0, |n,
                (at, length)| n * length + at) as i32)
        });
        on_each_device(|| {
            let mut tensor = x.tensor();
            assert_eq!(Plain::of(&tensor.slice(&indices)), wanted);
            tensor.set(&indices, -1 - Tensor::<i32>::arange(Shape::from(&lengths)));
            assert_eq!(Plain::of(&tensor), written);
        });
    }

    #[test]
    fn tiles_repetitions_and_rolls(shape in shapes(3), times in 0usize..4, shift in -9isize..9) {
        let x = Plain::arange(&shape);
        let mut tiled = shape.clone();
        tiled.iter_mut().for_each(|length| *length *= times);
        let wrapped = |at: &[usize]| at.iter().zip(&shape).map(|(at, length)| at % length).collect::<Vec<_>>();
        let wanted = Plain::from_fn(&tiled, |at| x.at(&wrapped(at)));
        on_each_device(|| assert_eq!(Plain::of(&x.tensor().tile(&vec![times; shape.len()])), wanted));
        if let Some(&last) = shape.last() {
            let rolled = Plain::from_fn(&shape, |at| {
                let mut at = at.to_vec();
                *at.last_mut().unwrap() = (*at.last().unwrap() as isize - shift).rem_euclid(last as isize) as usize;
                x.at(&at)
            });
            on_each_device(|| assert_eq!(Plain::of(&x.tensor().roll(shift, -1)), rolled));
            let mut longer = shape.clone();
            *longer.last_mut().unwrap() *= times;
            let repeated = Plain::from_fn(&longer, |at| {
                let mut at = at.to_vec();
                *at.last_mut().unwrap() /= times;
                x.at(&at)
            });
            on_each_device(|| assert_eq!(Plain::of(&x.tensor().repeat(times, -1)), repeated));
        }
    }
}

/// The positions of `range(*slice(start, end, step).indices(length))`, element by element.
fn python_range(length: usize, (start, end, step): (i32, i32, isize)) -> Vec<usize> {
    let length = length as isize;
    let wrap = |bound: i32| if bound < 0 { bound as isize + length } else { bound as isize };
    let (start, end) = (wrap(start), wrap(end));
    let mut at = if step > 0 { start.max(0) } else { start.min(length - 1) };
    let mut picks = Vec::new();
    while if step > 0 { at < end.min(length) } else { at > end.max(-1) } {
        if (0..length).contains(&at) {
            picks.push(at as usize);
        }
        at += step;
    }
    picks
}

#[test]
fn messages_name_the_line_of_the_user() {
    let tensor = Tensor::<f32>::zeros([2, 3]);
    let other = Tensor::<f32>::zeros([2, 2]);
    let messages = [
        message_of(|| tensor.sum(2)),
        message_of(|| tensor.expand_dims(4)),
        message_of(|| Tensor::concat(&[&tensor, &other], 0)),
    ];
    for message in messages {
        assert!(message.contains("tests/library/tensor.rs:"), "{message}");
    }
}

/// Means over an axis, by its length.
#[freeze]
fn centred(t: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    (t - t.sum(0) / t.size(0), t.size(1) * t)
}

#[test]
fn lengths_of_axes_are_operands_beside_tensors() {
    on_each_device(|| {
        let t = Plain::arange(&[2, 3]).tensor();
        assert_eq!((&t * t.size(1)).to_vec().unwrap(), [0, 3, 6, 9, 12, 15]);
        assert_eq!((t.size(0) - &t).to_vec().unwrap(), [2, 1, 0, -1, -2, -3]);
        assert_eq!((&t % t.size(0) + t.size(1)).to_vec().unwrap(), [3, 4, 3, 4, 3, 4]);
        let mut halves = t.cast::<f32>();
        halves /= t.size(0);
        assert_eq!(halves.to_vec().unwrap(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        assert_eq!((t.size(1) / (&t.cast::<f64>() + 1.0)).to_vec().unwrap()[..3], [3.0, 1.5, 1.0]);
        for (rows, columns) in [(2, 3), (4, 5), (3, 2)] {
            let t = Tensor::<f32>::from_array(Float::arange(rows * columns), [rows, columns]);
            let (centre, scaled) = centred(&t);
            let host = |row: usize, column: usize| (row * columns + column) as f32;
            let mean = |column| (0..rows).map(|row| host(row, column)).sum::<f32>() / rows as f32;
            let places = || (0..rows * columns).map(|at| (at / columns, at % columns));
            let wanted: Vec<f32> = places().map(|(row, column)| host(row, column) - mean(column)).collect();
            assert_eq!(centre.to_vec().unwrap(), wanted);
            let wanted: Vec<f32> = places().map(|(row, column)| columns as f32 * host(row, column)).collect();
            assert_eq!(scaled.to_vec().unwrap(), wanted);
        }
    });
    assert!(centred::stats().replays > 0 || std::env::var_os("JIT_FREEZE").is_some(), "{:?}", centred::explain());
}

#[test]
fn sizes_and_tuples_are_taken_where_numbers_are() {
    on_each_device(|| {
        let t = Tensor::<i32>::arange(12).reshape((3, 4));
        let (m, n) = (t.size(0), t.size(1));
        let picked = |t: Tensor<i32>| (t.shape().to_vec(), t.to_vec().unwrap());
        assert_eq!(picked(t.slice(s![.., ..n / 2])), (vec![3, 2], vec![0, 1, 4, 5, 8, 9]));
        assert_eq!(picked(t.slice(s![m - 1, 1..n - 1])), (vec![2], vec![9, 10]));
        assert_eq!(picked(t.slice(s![.., n / 4..n;2])), (vec![3, 2], vec![1, 3, 5, 7, 9, 11]));
        assert_eq!(picked(t.slice(s![0, 0..=n / 2, None])), (vec![3, 1], vec![0, 1, 2]));
        assert_eq!(picked(t.slice(s![..=m / 3, n - 2..;-1])), (vec![2, 3], vec![2, 1, 0, 6, 5, 4]));
        assert_eq!(picked(t.slice(s![1..;-1, n - 1])), (vec![2], vec![7, 3]));
        assert_eq!(picked(t.slice(s![0..m, -3..-1])), (vec![3, 2], vec![1, 2, 5, 6, 9, 10]));
        assert_eq!(picked(t.slice(s![n / 2 - 1.., 1])), (vec![2], vec![5, 9]));
        assert_eq!(picked(t.slice(s![Ellipsis, [0, 3]])), (vec![3, 2], vec![0, 3, 4, 7, 8, 11]));
        assert_eq!(picked(t.slice(s![n..m])), (vec![0, 4], vec![]));
        let message = message_of(|| drop(t.slice(s![m])));
        assert!(message.contains("index 3 is outside of axis 0, which has length 3"), "{message}");
    });
}

/// Rows that become columns are read in another order than that of the lanes.
#[test]
fn transposed_elements_are_where_they_belong() {
    fn check<T: jit::Number + PartialEq + std::fmt::Debug>(shape: [usize; 3], number: impl Fn(usize) -> T) {
        let [count, height, width] = shape;
        let numbers: Vec<T> = (0..count * height * width).map(number).collect();
        let x = Tensor::from_array(Array::from(numbers.clone()), shape);
        let transposed = x.swap_axes(1, 2);
        let at = |lane: usize| {
            let (matrix, row, column) = (lane / height / width, lane / height % width, lane % height);
            numbers[(matrix * height + column) * width + row]
        };
        let expected: Vec<T> = (0..numbers.len()).map(at).collect();
        assert_eq!(transposed.to_vec().unwrap(), expected, "{shape:?}");
        let doubled = (&transposed + &transposed).to_vec().unwrap();
        assert!(doubled.iter().zip(&expected).all(|(double, once)| *double == *once + *once), "{shape:?}");
    }
    for shape in [[1, 300, 200], [1, 257, 400], [1, 1000, 128], [1, 128, 1000], [3, 100, 300], [1, 70, 2000]] {
        check(shape, |k| k as f32);
        check(shape, |k| k as f64);
        check(shape, |k| (k * 7 % 120) as u8);
    }
}
