//! Prefix products whose derivatives are differentiated again.
//!
//! Here a prefix product is a chain of products: after step `k`, each element is the product of the `2ᵏ` elements up to
//! it. (W. D. Hillis, G. L. Steele: Data parallel algorithms, 1986.) Nothing is divided, so derivatives of any order
//! are exact, whichever factors are zero. The price is a product of each element in each of the `log₂ n` steps.

use jit_runtime::ir::{BinaryOp, CompareOp, Type};

use super::Scan;
use super::prefix_derivatives::number;
use crate::graph::Var;
use crate::size::Size;
use crate::trace::{gather, record};

/// The steps of a prefix product.
pub(super) struct Doubling {
    /// The type of the array; halves are computed in single precision.
    ty: Type,
    places: Places,
    /// The values before each step, with its distance.
    steps: Vec<(u32, Var)>,
}

impl Doubling {
    #[track_caller]
    pub(super) fn of(x: &Var, scan: Scan) -> Doubling {
        let wide = if x.ty().size_bytes() < 4 { Type::F32 } else { x.ty() };
        let places = Places { scan, width: x.width() };
        let len = scan.block.filter(|block| *block < x.width()).unwrap_or(x.width());
        let (mut values, mut distance, mut steps) = (record::cast(wide, x), 1_u32, Vec::new());
        while Size::from(distance as usize) < len {
            steps.push((distance, values.clone()));
            values = mul(&values, &places.factor(&values, distance));
            distance = distance.saturating_mul(2);
        }
        Doubling { ty: x.ty(), places, steps }
    }

    #[track_caller]
    pub(super) fn backward(&self, gradient: &Var) -> Var {
        let mut flow = record::cast(self.wide(), gradient);
        if self.places.scan.is_exclusive {
            flow = self.places.ahead(&flow, 1);
        }
        for (distance, values) in self.steps.iter().rev() {
            let own = mul(&flow, &self.places.factor(values, *distance));
            flow = add(&own, &self.places.ahead(&mul(&flow, values), *distance));
        }
        record::cast(self.ty, &flow)
    }

    #[track_caller]
    pub(super) fn forward(&self, tangent: &Var) -> Var {
        let mut flow = record::cast(self.wide(), tangent);
        for (distance, values) in &self.steps {
            let own = mul(&flow, &self.places.factor(values, *distance));
            flow = add(&own, &mul(values, &self.places.behind(&flow, *distance)));
        }
        if self.places.scan.is_exclusive {
            flow = self.places.behind(&flow, 1);
        }
        record::cast(self.ty, &flow)
    }

    fn wide(&self) -> Type {
        self.steps.first().map_or(self.ty, |(_, values)| values.ty())
    }
}

/// Which elements a scan combines.
struct Places {
    scan: Scan,
    width: Size,
}

impl Places {
    /// Returns the element at a distance behind each one in the order of the scan, one where its block has none.
    #[track_caller]
    fn factor(&self, values: &Var, distance: u32) -> Var {
        let (index, exists) = self.at(self.scan.is_reverse, distance);
        let value = gather::gather(values, &index, Some(&exists));
        record::select(&exists, &value, &number(values.ty(), 1))
    }

    /// Returns the element at a distance behind each one in the order of the scan, zero where its block has none.
    #[track_caller]
    fn behind(&self, values: &Var, distance: u32) -> Var {
        let (index, exists) = self.at(self.scan.is_reverse, distance);
        gather::gather(values, &index, Some(&exists))
    }

    /// Like [`Places::behind`], in the other direction.
    #[track_caller]
    fn ahead(&self, values: &Var, distance: u32) -> Var {
        let (index, exists) = self.at(!self.scan.is_reverse, distance);
        gather::gather(values, &index, Some(&exists))
    }

    /// Returns the lane at a distance after or before each one, and whether it exists in its block.
    #[track_caller]
    fn at(&self, is_after: bool, distance: u32) -> (Var, Var) {
        let distance = record::literal(Type::U32, u64::from(distance), 1);
        let lane = record::lane_index(self.width);
        let within = match self.scan.block {
            Some(block) => record::binary(BinaryOp::Rem, &lane, &record::size(block)),
            None => lane.clone(),
        };
        if !is_after {
            let index = record::binary(BinaryOp::Sub, &lane, &distance);
            return (index, record::compare(CompareOp::Ge, &within, &distance));
        }
        let index = add(&lane, &distance);
        let mut exists = record::compare(CompareOp::Lt, &index, &record::size(self.width));
        if let Some(block) = self.scan.block {
            let is_inside = record::compare(CompareOp::Lt, &add(&within, &distance), &record::size(block));
            exists = record::and(&exists, &is_inside);
        }
        (index, exists)
    }
}

#[track_caller]
fn add(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Add, a, b)
}

#[track_caller]
fn mul(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Mul, a, b)
}
