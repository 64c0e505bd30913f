//! Vectors.

use jit::linalg::{Frame, Vec2, Vec3, Vec4};

use super::*;
use crate::on_each_device;

#[test]
fn vectors_have_derivatives() {
    on_each_device(|| {
        let cases: &[Case<'_>] = &[
            ("dot", 6, &|x| vec3(x, 0).dot(vec3(x, 3))),
            ("abs_dot", 6, &|x| vec3(x, 0).abs_dot(vec3(x, 3))),
            ("cross", 6, &|x| of_vec3(vec3(x, 0).cross(vec3(x, 3)))),
            ("norm", 3, &|x| vec3(x, 0).norm()),
            ("squared_norm", 3, &|x| vec3(x, 0).squared_norm()),
            ("normalize", 3, &|x| of_vec3(vec3(x, 0).normalize())),
            ("distance", 6, &|x| vec3(x, 0).distance(vec3(x, 3))),
            ("project_onto", 6, &|x| of_vec3(vec3(x, 0).project_onto(vec3(x, 3)))),
            ("reflect", 6, &|x| of_vec3(vec3(x, 0).reflect(vec3(x, 3)))),
            ("refract", 6, &|x| of_vec3(vec3(x, 0).normalize().refract(vec3(x, 3).normalize(), 0.3))),
            ("lerp", 7, &|x| of_vec3(vec3(x, 0).lerp(vec3(x, 3), parts::<1>(x, 6)[0].clone()))),
            ("component_product", 4, &|x| Vec4::from(parts(x, 0)).component_product()),
            ("component_max", 4, &|x| Vec4::from(parts(x, 0)).component_max()),
            ("mul_add", 6, &|x| of_vec3(vec3(x, 0).mul_add(vec3(x, 3), vec3(x, 0)))),
            ("min", 6, &|x| of_vec3(vec3(x, 0).min(vec3(x, 3)))),
            ("orthonormal_pair", 3, &|x| {
                let (a, b) = vec3(x, 0).normalize().orthonormal_pair();
                of_vec3(a + b * 2.0)
            }),
            ("to_spherical", 3, &|x| flat(vec3(x, 0).normalize().to_spherical().into())),
            ("from_spherical", 2, &|x| {
                let [polar, azimuth] = parts(x, 0);
                of_vec3(Vec3::from_spherical(polar, azimuth))
            }),
            ("angle", 6, &|x| vec3(x, 0).normalize().angle(vec3(x, 3).normalize())),
            ("frame", 6, &|x| of_vec3(Frame::from_normal(vec3(x, 0).normalize()).to_world(vec3(x, 3)))),
            ("frame back", 6, &|x| of_vec3(Frame::from_normal(vec3(x, 0).normalize()).to_local(vec3(x, 3)))),
            ("perpendicular_dot", 4, &|x| Vec2::from(parts(x, 0)).perpendicular_dot(Vec2::from(parts(x, 2)))),
            ("to_angle", 2, &|x| Vec2::from(parts(x, 0)).to_angle()),
            ("spherical_harmonics", 3, &|x| F::concat(&vec3(x, 0).normalize().spherical_harmonics(3))),
            ("sums", 3, &|x| of_vec3(vec3(x, 0).sum() + vec3(x, 0).reduce_max() + vec3(x, 0).product())),
        ];
        check(cases, 0.0);
    });
}
