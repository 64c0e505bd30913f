//! Prices European options on a grid of strikes and volatilities, and draws them:
//! `cargo run --release --example black_scholes [-- --help]`.
//!
//! Shows a formula with transcendental functions that becomes one kernel, fused with the picture of its values. Prices,
//! their derivatives, contour lines and colours of a million options are never written to memory. The prices are
//! compared with reference values and with put-call parity.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "black_scholes/chart.rs"]
mod chart;
#[path = "black_scholes/heat_map.rs"]
mod heat_map;
#[path = "shared/mod.rs"]
mod shared;
#[cfg(test)]
#[path = "black_scholes/tests.rs"]
mod tests;

use std::process::ExitCode;
use std::time::Instant;

use jit::prelude::*;
use shared::arguments::{self, Arguments};
use shared::picture;

const USAGE: &str = "usage: black_scholes [--out DIR] [--size N] [--spot X] [--rate X] [--years X]

  --out DIR   where black-scholes.png goes (default: out)
  --size N    strikes and volatilities in each picture, 16 to 4096 (default: 640)
  --spot X    what the share costs today, 1 to 1000 (default: 100)
  --rate X    interest without risk in percent a year, 0 to 50 (default: 5)
  --years X   until the option expires, 0.01 to 30 (default: 1)";

/// The strikes are fractions of the spot price.
const STRIKES: (f32, f32) = (0.5, 1.5);
const VOLATILITIES: (f32, f32) = (0.05, 0.8);

/// The parameters that all options of a picture share: arrays of one opaque element, so that one kernel serves every
/// market.
struct Market {
    spot: Float,
    /// A fraction of one per year.
    rate: Float,
    years: Float,
}

/// The present value of an option, and its derivatives with respect to strike and volatility.
#[derive(Clone)]
struct Valuation {
    price: Float,
    by_strike: Float,
    by_volatility: Float,
}

/// Returns the values of the options to buy (call) and to sell (put) a share at the strike (F. Black and M. Scholes,
/// “The Pricing of Options and Corporate Liabilities”, 1973).
#[jit]
fn black_scholes(market: &Market, strike: &Float, volatility: &Float) -> (Valuation, Valuation) {
    let (spot, rate, years) = (&market.spot, &market.rate, &market.years);
    let deviation = volatility * years.sqrt();
    let d1 = ((spot / strike).ln() + rate * years) / deviation + 0.5 * deviation;
    let d2 = d1 - deviation;
    let discount = (-rate * years).exp();
    let vega = spot * normal_density(&d1) * years.sqrt();
    let call = Valuation {
        price: spot * normal(&d1) - strike * discount * normal(&d2),
        by_strike: -discount * normal(&d2),
        by_volatility: vega.clone(),
    };
    let put = Valuation {
        price: strike * discount * normal(&-d2) - spot * normal(&-d1),
        by_strike: discount * normal(&-d2),
        by_volatility: vega,
    };
    (call, put)
}

/// Returns the distribution function of the standard normal distribution at `x`.
#[jit]
fn normal(x: &Float) -> Float {
    0.5 + 0.5 * (x * std::f32::consts::FRAC_1_SQRT_2).erf()
}

/// Returns the density of the standard normal distribution.
#[jit]
fn normal_density(x: &Float) -> Float {
    (-0.5 * x * x).exp() * (0.5 * std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2)
}

/// Returns strike and volatility at the middle of each pixel, with the highest volatility at the top.
#[jit]
fn grid(market: &Market, size: u32) -> (Float, Float) {
    let pixel = UInt::arange((size * size) as usize);
    let across = ((pixel % size).cast::<f32>() + 0.5) / size as f32;
    let down = ((pixel / size).cast::<f32>() + 0.5) / size as f32;
    let strike = market.spot * (STRIKES.0 + (STRIKES.1 - STRIKES.0) * across);
    let volatility = VOLATILITIES.1 - (VOLATILITIES.1 - VOLATILITIES.0) * down;
    (strike, volatility)
}

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), String> {
    let folder = arguments.path("--out").unwrap_or("out".into());
    let size = arguments.number("--size", 16..=4096, 640)?;
    let spot = arguments.number("--spot", 1.0..=1000.0, 100.0)?;
    let rate: f32 = arguments.number("--rate", 0.0..=50.0, 5.0)? / 100.0;
    let years = arguments.number("--years", 0.01..=30.0, 1.0)?;
    arguments.finish()?;
    picture::make_folder(&folder)?;
    let market = Market { spot: Float::opaque(spot), rate: Float::opaque(rate), years: Float::opaque(years) };

    compare_with_reference_prices().map_err(|error| error.to_string())?;
    let gap = parity_gap(&market, size).map_err(|error| error.to_string())?;
    println!("call - put = spot - discounted strike, but for {gap:.1e} at most, on {size} × {size} pairs of options");
    let maps = timed("first", &market, size)?;
    timed("second", &market, size)?;
    picture::write(&chart::draw(&maps, spot, spot * STRIKES.0..spot * STRIKES.1), &folder, "black-scholes.png")
}

/// Strike, volatility, call and put for a share at 100, an interest of 5 % and one year, computed in double precision.
const REFERENCE: [[f32; 4]; 5] = [
    [100.0, 0.20, 10.450_584, 5.573_526],
    [80.0, 0.20, 24.588_835, 0.687_189],
    [120.0, 0.20, 3.247_477, 17.395_008],
    [100.0, 0.50, 21.792_604, 16.915_547],
    [100.0, 0.05, 5.283_269, 0.406_211],
];

/// Prints prices next to their reference values.
fn compare_with_reference_prices() -> Result<(), jit::Error> {
    let market = Market { spot: Float::opaque(100.0), rate: Float::opaque(0.05), years: Float::opaque(1.0) };
    let column = |i: usize| Float::from(REFERENCE.map(|row| row[i]).as_slice());
    let (call, put) = black_scholes(&market, &column(0), &column(1));
    jit::eval(&(&call.price, &put.price))?;
    let (calls, puts) = (call.price.to_vec()?, put.price.to_vec()?);
    println!("strike  volatility        call   reference         put   reference");
    for (row, (call, put)) in REFERENCE.iter().zip(calls.iter().zip(&puts)) {
        let [strike, volatility, reference_call, reference_put] = row;
        println!(
            "{strike:>6}  {:>9}%  {call:>10.5}  {reference_call:>10.5}  {put:>10.5}  {reference_put:>10.5}",
            100.0 * volatility
        );
    }
    Ok(())
}

/// Returns the largest deviation from put-call parity: a call and a sold put are together the share minus the
/// discounted strike.
fn parity_gap(market: &Market, size: u32) -> Result<f32, jit::Error> {
    let (strike, volatility) = grid(market, size);
    let (call, put) = black_scholes(market, &strike, &volatility);
    let forward = &market.spot - strike * (-&market.rate * &market.years).exp();
    (call.price - put.price - forward).abs().reduce_max().item()
}

/// Draws both heat maps and prints the time and the launches.
fn timed(run: &str, market: &Market, size: u32) -> Result<[image::RgbImage; 2], String> {
    let (before, begin) = (jit::stats(), Instant::now());
    let maps = heat_maps(market, size).map_err(|error| error.to_string())?;
    let (seconds, after) = (begin.elapsed().as_secs_f64(), jit::stats());
    let options = 2.0 * f64::from(size) * f64::from(size);
    println!(
        "{run} run: {options} options with derivatives and colours in {:.2} ms ({:.0} million a second), {} kernel(s) \
        launched, {} compiled",
        seconds * 1e3,
        options / seconds / 1e6,
        after.launches - before.launches,
        after.compiles - before.compiles
    );
    Ok(maps)
}

/// Returns the heat maps of calls and puts.
fn heat_maps(market: &Market, size: u32) -> Result<[image::RgbImage; 2], jit::Error> {
    let (strike, volatility) = grid(market, size);
    let (call, put) = black_scholes(market, &strike, &volatility);
    let scale = heat_map::Scale {
        highest: &market.spot * chart::HIGHEST,
        contour_distance: &market.spot * chart::CONTOURS,
        strike_of_pixel: &market.spot * ((STRIKES.1 - STRIKES.0) / size as f32),
        volatility_of_pixel: (VOLATILITIES.1 - VOLATILITIES.0) / size as f32,
    };
    let maps = [heat_map::paint(&call, &scale), heat_map::paint(&put, &scale)];
    jit::eval(&maps)?;
    let [call, put] = maps;
    Ok([heat_map::read(&call, size)?, heat_map::read(&put, size)?])
}
