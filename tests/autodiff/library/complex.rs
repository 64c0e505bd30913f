//! Complex numbers and quaternions.

use super::*;
use crate::on_each_device;

#[test]
fn complex_numbers_and_quaternions_have_derivatives() {
    on_each_device(|| {
        let of = |z: Complex<f64>| flat(z.into());
        let cases: &[Case<'_>] = &[
            ("product", 4, &|x| of(complex(x, 0) * complex(x, 2))),
            ("quotient", 4, &|x| of(complex(x, 0) / complex(x, 2))),
            ("abs", 2, &|x| complex(x, 0).abs()),
            ("arg", 2, &|x| complex(x, 0).arg()),
            ("from_polar", 2, &|x| {
                let [magnitude, angle] = parts(x, 0);
                of(Complex::from_polar(magnitude, angle))
            }),
            ("recip", 2, &|x| of(complex(x, 0).recip())),
            ("sqrt", 2, &|x| of(complex(x, 0).sqrt())),
            ("exp", 2, &|x| of(complex(x, 0).exp())),
            ("exp2", 2, &|x| of(complex(x, 0).exp2())),
            ("ln", 2, &|x| of(complex(x, 0).ln())),
            ("log2", 2, &|x| of(complex(x, 0).log2())),
            ("log10", 2, &|x| of(complex(x, 0).log10())),
            ("pow", 4, &|x| of(complex(x, 0).pow(complex(x, 2)))),
            ("powf", 3, &|x| of(complex(x, 0).powf(parts::<1>(x, 2)[0].clone()))),
            ("powi", 2, &|x| of(complex(x, 0).powi(-3))),
            ("square", 2, &|x| of(complex(x, 0).square())),
            ("sin", 2, &|x| of(complex(x, 0).sin())),
            ("cos", 2, &|x| of(complex(x, 0).cos())),
            ("tan", 2, &|x| of(complex(x, 0).tan())),
            ("sinh", 2, &|x| of(complex(x, 0).sinh())),
            ("cosh", 2, &|x| of(complex(x, 0).cosh())),
            ("tanh", 2, &|x| of(complex(x, 0).tanh())),
            ("asin", 2, &|x| of(complex(x, 0).asin())),
            ("acos", 2, &|x| of(complex(x, 0).acos())),
            ("atan", 2, &|x| of(complex(x, 0).atan())),
            ("asinh", 2, &|x| of(complex(x, 0).asinh())),
            ("acosh", 2, &|x| of(complex(x, 0).acosh())),
            ("atanh", 2, &|x| of(complex(x, 0).atanh())),
            ("quaternion product", 8, &|x| of_quaternion(quaternion(x, 0) * quaternion(x, 4))),
            ("quaternion recip", 4, &|x| of_quaternion(quaternion(x, 0).recip())),
            ("quaternion norm", 4, &|x| quaternion(x, 0).norm()),
            ("quaternion exp", 4, &|x| of_quaternion(quaternion(x, 0).exp())),
            ("quaternion ln", 4, &|x| of_quaternion(quaternion(x, 0).ln())),
            ("quaternion sqrt", 4, &|x| of_quaternion(quaternion(x, 0).sqrt())),
            ("quaternion powf", 5, &|x| of_quaternion(quaternion(x, 0).powf(parts::<1>(x, 4)[0].clone()))),
            ("quaternion pow", 8, &|x| of_quaternion(quaternion(x, 0).pow(&quaternion(x, 4)))),
            ("slerp", 9, &|x| {
                let [a, b] = [0, 4].map(|first| quaternion(x, first).normalize());
                of_quaternion(a.slerp(&b, parts::<1>(x, 8)[0].clone()))
            }),
            ("nlerp", 8, &|x| of_quaternion(quaternion(x, 0).nlerp(&quaternion(x, 4), 0.25))),
            ("from_axis_angle", 4, &|x| {
                of_quaternion(Quaternion::from_axis_angle(vec3(x, 0).normalize(), parts::<1>(x, 3)[0].clone()))
            }),
            ("to_axis_angle", 4, &|x| {
                let (axis, angle) = quaternion(x, 0).normalize().to_axis_angle();
                of_vec3(axis * angle)
            }),
            ("between", 6, &|x| of_quaternion(Quaternion::between(vec3(x, 0).normalize(), vec3(x, 3).normalize()))),
            ("rotate", 7, &|x| of_vec3(quaternion(x, 0).normalize().rotate(vec3(x, 4)))),
            ("rotate_back", 7, &|x| of_vec3(quaternion(x, 0).normalize().rotate_back(vec3(x, 4)))),
            ("to_mat3", 4, &|x| of_matrix(&quaternion(x, 0).normalize().to_mat3())),
            ("from_mat3", 4, &|x| of_quaternion(Quaternion::from_mat3(&quaternion(x, 0).normalize().to_mat3()))),
            ("from_euler", 3, &|x| of_quaternion(Quaternion::from_euler(vec3(x, 0)))),
            ("to_euler", 4, &|x| of_vec3(quaternion(x, 0).normalize().to_euler())),
        ];
        check(cases, 0.1);
    });
}
