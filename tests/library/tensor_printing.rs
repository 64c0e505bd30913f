//! Tensors as text.

use jit::prelude::*;

use crate::devices::on_each_device;

#[test]
fn rows_are_nested_and_aligned() {
    on_each_device(|| {
        assert_eq!(Tensor::from([[1, -20], [300, 4]]).to_string(), "[[  1, -20],\n [300,   4]]");
        let x = Tensor::from([[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]);
        assert_eq!(x.to_string(), "[[[1, 2],\n  [3, 4]],\n\n [[5, 6],\n  [7, 8]]]");
        assert_eq!(Tensor::from([[0.5f64, 10.25]]).to_string(), "[[ 0.5 , 10.25]]");
        assert_eq!(Tensor::from([[true], [false]]).to_string(), "[[ true],\n [false]]");
        assert_eq!(Tensor::from([[1e-30f32, f32::INFINITY, -2.0]]).to_string(), "[[  1e-30, inf    ,  -2    ]]");
        assert_eq!(Tensor::from(2.5f32).to_string(), "2.5");
        assert_eq!(Tensor::<f32>::zeros([0, 3]).to_string(), "[]");
    });
}

#[test]
fn long_tensors_show_the_ends_of_each_axis() {
    on_each_device(|| {
        let text = Tensor::<i32>::arange([100, 2, 50]).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "[[[   0,    1,    2, …,   47,   48,   49],");
        assert_eq!(lines[1], "  [  50,   51,   52, …,   97,   98,   99]],");
        assert_eq!(lines[lines.len() - 1], "  [9950, 9951, 9952, …, 9997, 9998, 9999]]]");
        assert_eq!(lines[9], " …,");
        assert_eq!(lines.len(), 6 * 2 + 1 + 6);
    });
}

#[test]
fn debug_evaluates_nothing() {
    let x = (Tensor::from([[1.0f32, 2.0]]) * 3.0).with_label("product");
    let (line, text) = (line!() - 1, format!("{x:?}"));
    for part in ["Tensor<f32>", "[1, 2]", "unevaluated", "product", &format!("tensor_printing.rs:{line}")] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!x.array().is_evaluated());
}
