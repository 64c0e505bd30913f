//! Compares the prices and their derivatives with the formula in double precision, and checks laws that they obey.

use jit::prelude::*;

use crate::{Market, REFERENCE, black_scholes, chart, grid, heat_maps, parity_gap};

fn market() -> Market {
    Market { spot: Float::opaque(100.0), rate: Float::opaque(0.05), years: Float::opaque(1.0) }
}

#[test]
fn prices_are_those_of_the_formula() {
    for [strike, volatility, wanted_call, wanted_put] in REFERENCE {
        let (call, put) = black_scholes(&market(), &Float::from(strike), &Float::from(volatility));
        let (call, put) = (call.price.item().unwrap(), put.price.item().unwrap());
        assert!(
            (call - wanted_call).abs() < 3e-5 && (put - wanted_put).abs() < 3e-5,
            "{strike} {volatility}: {call} {put}"
        );
    }
    assert!(parity_gap(&market(), 64).unwrap() < 5e-5);
}

#[test]
fn derivatives_are_differences_of_prices() {
    let (strike, volatility) = grid(&market(), 16);
    let (call, put) = black_scholes(&market(), &strike, &volatility);
    let (call_on, put_on) = black_scholes(&market(), &(&strike + 0.5), &volatility);
    let (call_back, put_back) = black_scholes(&market(), &(&strike - 0.5), &volatility);
    let gap = |slope: &Float, on: &Float, back: &Float| (on - back - slope).abs().reduce_max().item().unwrap();
    assert!(gap(&call.by_strike, &call_on.price, &call_back.price) < 2e-3);
    assert!(gap(&put.by_strike, &put_on.price, &put_back.price) < 2e-3);
    let (wild, _) = black_scholes(&market(), &strike, &(&volatility + 0.005));
    let (calm, _) = black_scholes(&market(), &strike, &(&volatility - 0.005));
    assert!(gap(&(&call.by_volatility * 0.01), &wild.price, &calm.price) < 2e-3);
}

#[test]
fn dear_options_are_bright_and_worthless_ones_dark() {
    let [call, put] = heat_maps(&market(), 64).unwrap();
    let brightness =
        |map: &image::RgbImage, x, y| map.get_pixel(x, y).0.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    // Low strikes, at the left, make a call expensive, and high ones a put; both are more expensive at the top, where
    // volatility is higher.
    assert!(brightness(&call, 1, 1) > 400 && brightness(&call, 62, 62) < 60);
    assert!(brightness(&put, 62, 1) > 400 && brightness(&put, 1, 62) < 60);
    let chart = chart::draw(&[call, put], 100.0, 50.0..150.0);
    assert!(chart.width() > 2 * 64 && chart.height() > 64);
}
