//! Checks laws that the encounter must obey.

use jit::prelude::*;

use crate::galaxy::Encounter;
use crate::light;

fn watch(encounter: &mut Encounter, times: usize) {
    for _ in 0..times {
        encounter.advance(&Float::opaque(0.01), &UInt::opaque(5));
        jit::eval(&*encounter).unwrap();
    }
}

/// Kinetic and potential energy of the centres, whose masses are 1.
fn energy(encounter: &Encounter) -> f32 {
    let [first, second] = &encounter.centres;
    let kinetic = 0.5 * (first.velocity.squared_norm() + second.velocity.squared_norm());
    let softened = first.position.squared_distance(&second.position) + 0.15 * 0.15;
    (kinetic - 1.0 / softened.sqrt()).item().unwrap()
}

#[test]
fn centres_keep_energy_and_momentum() {
    let mut encounter = Encounter::new(1000, 1);
    let before = energy(&encounter);
    watch(&mut encounter, 120);
    let [first, second] = &encounter.centres;
    assert!((energy(&encounter) - before).abs() < 0.01 * before.abs(), "{} instead of {before}", energy(&encounter));
    let momentum = (&first.velocity + &second.velocity).norm().item().unwrap();
    assert!(momentum < 1e-4, "{momentum}");
}

#[test]
fn far_from_each_other_discs_stay_discs() {
    let mut encounter = Encounter::new(2000, 1);
    let distances = |encounter: &Encounter| -> [Vec<f32>; 2] {
        // Even lanes belong to the first galaxy.
        [0, 1].map(|i| {
            let all = encounter.stars.position.distance(&encounter.centres[i].position).to_vec().unwrap();
            all.into_iter().skip(i).step_by(2).collect()
        })
    };
    let before = distances(&encounter);
    watch(&mut encounter, 20);
    for (before, after) in before.iter().zip(distances(&encounter)) {
        assert!(before.iter().all(|distance| *distance < 1.6), "all stars lie in the disc");
        let change: f32 = before.iter().zip(&after).map(|(before, after)| (before - after).abs()).sum();
        assert!(change / 1000.0 < 0.02, "orbits are circles, but distances changed by {}", change / 1000.0);
    }
}

#[test]
fn no_light_is_lost_inside_of_the_picture() {
    let encounter = Encounter::new(1000, 3);
    let light = light::expose(&encounter, (128, 80));
    assert!((light.sum().item().unwrap() - 1000.0).abs() < 0.01);
    assert!(light.to_vec().unwrap().iter().all(|light| *light >= 0.0));
}

#[test]
fn every_device_sees_the_same_stars() {
    let positions = || {
        let mut encounter = Encounter::new(1000, 7);
        watch(&mut encounter, 4);
        encounter.stars.position.to_vec().unwrap()
    };
    assert_eq!(positions(), jit::with_device(Device::Interpreter, positions));
}
