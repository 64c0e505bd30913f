// wanted: this is nested in 256 conditions, which is as deep as the compiler's stack allows in a `#[jit]` function
use jit::prelude::*;

#[rustfmt::skip]
#[jit]
fn deep(x: &Float) -> Float {
    let mut y = x.clone();
    if x > 0.0 { if x > 1.0 { if x > 2.0 { if x > 3.0 {
        if x > 4.0 { if x > 5.0 { if x > 6.0 { if x > 7.0 { if x > 8.0 { if x > 9.0 {
    if x > 10.0 { if x > 11.0 { if x > 12.0 {
        if x > 13.0 { if x > 14.0 { if x > 15.0 { if x > 16.0 { if x > 17.0 { if x > 18.0 { if x > 19.0 {
    if x > 20.0 { if x > 21.0 { if x > 22.0 {
        if x > 23.0 { if x > 24.0 { if x > 25.0 { if x > 26.0 { if x > 27.0 { if x > 28.0 { if x > 29.0 {
    if x > 30.0 { if x > 31.0 { if x > 32.0 {
        if x > 33.0 { if x > 34.0 { if x > 35.0 { if x > 36.0 { if x > 37.0 { if x > 38.0 { if x > 39.0 {
    if x > 40.0 { if x > 41.0 { if x > 42.0 {
        if x > 43.0 { if x > 44.0 { if x > 45.0 { if x > 46.0 { if x > 47.0 { if x > 48.0 { if x > 49.0 {
    if x > 50.0 { if x > 51.0 { if x > 52.0 {
        if x > 53.0 { if x > 54.0 { if x > 55.0 { if x > 56.0 { if x > 57.0 { if x > 58.0 { if x > 59.0 {
    if x > 60.0 { if x > 61.0 { if x > 62.0 {
        if x > 63.0 { if x > 64.0 { if x > 65.0 { if x > 66.0 { if x > 67.0 { if x > 68.0 { if x > 69.0 {
    if x > 70.0 { if x > 71.0 { if x > 72.0 {
        if x > 73.0 { if x > 74.0 { if x > 75.0 { if x > 76.0 { if x > 77.0 { if x > 78.0 { if x > 79.0 {
    if x > 80.0 { if x > 81.0 { if x > 82.0 {
        if x > 83.0 { if x > 84.0 { if x > 85.0 { if x > 86.0 { if x > 87.0 { if x > 88.0 { if x > 89.0 {
    if x > 90.0 { if x > 91.0 { if x > 92.0 {
        if x > 93.0 { if x > 94.0 { if x > 95.0 { if x > 96.0 { if x > 97.0 { if x > 98.0 { if x > 99.0 {
    if x > 100.0 { if x > 101.0 { if x > 102.0 {
        if x > 103.0 { if x > 104.0 { if x > 105.0 { if x > 106.0 { if x > 107.0 { if x > 108.0 { if x > 109.0 {
    if x > 110.0 { if x > 111.0 { if x > 112.0 {
        if x > 113.0 { if x > 114.0 { if x > 115.0 { if x > 116.0 { if x > 117.0 { if x > 118.0 { if x > 119.0 {
    if x > 120.0 { if x > 121.0 { if x > 122.0 {
        if x > 123.0 { if x > 124.0 { if x > 125.0 { if x > 126.0 { if x > 127.0 { if x > 128.0 { if x > 129.0 {
    if x > 130.0 { if x > 131.0 { if x > 132.0 {
        if x > 133.0 { if x > 134.0 { if x > 135.0 { if x > 136.0 { if x > 137.0 { if x > 138.0 { if x > 139.0 {
    if x > 140.0 { if x > 141.0 { if x > 142.0 {
        if x > 143.0 { if x > 144.0 { if x > 145.0 { if x > 146.0 { if x > 147.0 { if x > 148.0 { if x > 149.0 {
    if x > 150.0 { if x > 151.0 { if x > 152.0 {
        if x > 153.0 { if x > 154.0 { if x > 155.0 { if x > 156.0 { if x > 157.0 { if x > 158.0 { if x > 159.0 {
    if x > 160.0 { if x > 161.0 { if x > 162.0 {
        if x > 163.0 { if x > 164.0 { if x > 165.0 { if x > 166.0 { if x > 167.0 { if x > 168.0 { if x > 169.0 {
    if x > 170.0 { if x > 171.0 { if x > 172.0 {
        if x > 173.0 { if x > 174.0 { if x > 175.0 { if x > 176.0 { if x > 177.0 { if x > 178.0 { if x > 179.0 {
    if x > 180.0 { if x > 181.0 { if x > 182.0 {
        if x > 183.0 { if x > 184.0 { if x > 185.0 { if x > 186.0 { if x > 187.0 { if x > 188.0 { if x > 189.0 {
    if x > 190.0 { if x > 191.0 { if x > 192.0 {
        if x > 193.0 { if x > 194.0 { if x > 195.0 { if x > 196.0 { if x > 197.0 { if x > 198.0 { if x > 199.0 {
    if x > 200.0 { if x > 201.0 { if x > 202.0 {
        if x > 203.0 { if x > 204.0 { if x > 205.0 { if x > 206.0 { if x > 207.0 { if x > 208.0 { if x > 209.0 {
    if x > 210.0 { if x > 211.0 { if x > 212.0 {
        if x > 213.0 { if x > 214.0 { if x > 215.0 { if x > 216.0 { if x > 217.0 { if x > 218.0 { if x > 219.0 {
    if x > 220.0 { if x > 221.0 { if x > 222.0 {
        if x > 223.0 { if x > 224.0 { if x > 225.0 { if x > 226.0 { if x > 227.0 { if x > 228.0 { if x > 229.0 {
    if x > 230.0 { if x > 231.0 { if x > 232.0 {
        if x > 233.0 { if x > 234.0 { if x > 235.0 { if x > 236.0 { if x > 237.0 { if x > 238.0 { if x > 239.0 {
    if x > 240.0 { if x > 241.0 { if x > 242.0 {
        if x > 243.0 { if x > 244.0 { if x > 245.0 { if x > 246.0 { if x > 247.0 { if x > 248.0 { if x > 249.0 {
    if x > 250.0 { if x > 251.0 { if x > 252.0 {
        if x > 253.0 { if x > 254.0 { if x > 255.0 { if x > 256.0 { if x > 257.0 { if x > 258.0 { if x > 259.0 {
    y += 1.0;
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    } } } } } } } } } }
    y
}

fn main() {}
