//! Algorithms as a user would write them: one text, compiled as plain Rust over numbers and annotated with `#[jit]`
//! over arrays.

use jit::prelude::*;

use crate::control_flow::on_each_device;

/// The host counterparts of arrays and per-lane local memory.
mod host {
    use std::ops::{Index, IndexMut};

    pub(super) struct List<T>(pub(super) Vec<T>);

    impl<T> Index<u32> for List<T> {
        type Output = T;

        fn index(&self, index: u32) -> &T {
            &self.0[index as usize]
        }
    }

    pub(super) struct Local<T>(Vec<T>);

    impl<T: Default + Clone> Local<T> {
        pub(super) fn new(len: usize) -> Self {
            Local(vec![T::default(); len])
        }
    }

    impl<T> Index<u32> for Local<T> {
        type Output = T;

        fn index(&self, index: u32) -> &T {
            &self.0[index as usize]
        }
    }

    impl<T> IndexMut<u32> for Local<T> {
        fn index_mut(&mut self, index: u32) -> &mut T {
            &mut self.0[index as usize]
        }
    }
}

macro_rules! proxies {
    ($(fn $name:ident $arguments:tt -> $result:ty $body:block)*) => {
        #[allow(clippy::clone_on_copy, clippy::manual_range_contains, reason = "the same code is for arrays")]
        mod plain {
            use super::host::{List, Local};

            type Float = f32;
            type UInt = u32;
            type Int = i32;
            type UInts = List<u32>;

            $(pub(super) fn $name $arguments -> $result $body)*
        }

        mod traced {
            use jit::prelude::*;

            type UInts = UInt;

            $(#[jit] pub(super) fn $name $arguments -> $result $body)*
        }
    };
}

proxies! {
    fn orbit(x: Float, v: Float, steps: UInt) -> Float {
        let mut position = Local::<f32>::new(3);
        let mut velocity = Local::<f32>::new(3);
        position[0u32] = x.clone();
        position[1u32] = x + 1.5;
        position[2u32] = Float::from(-2.0);
        velocity[0u32] = v.clone();
        velocity[1u32] = -v;
        for _ in 0u32..steps {
            for i in 0u32..3 {
                let mut force = Float::from(0.0);
                for j in 0u32..3 {
                    if i != j {
                        let d = position[j] - position[i];
                        force += d / (d * d + 0.25);
                    }
                }
                velocity[i] += force * 0.125;
            }
            for i in 0u32..3 {
                let v = velocity[i];
                position[i] += v * 0.125;
            }
        }
        position[0u32] + position[1u32] * position[2u32]
    }

    fn life(world: &UInts, cell: UInt, width: u32, height: u32) -> UInt {
        let x = cell % width;
        let y = cell / width;
        let mut neighbours = UInt::from(0u32);
        for dy in [height - 1, 0, 1] {
            for dx in [width - 1, 0, 1] {
                if dx != 0 || dy != 0 {
                    neighbours += world[(y + dy) % height * width + (x + dx) % width];
                }
            }
        }
        match neighbours {
            3 => UInt::from(1u32),
            2 => world[cell],
            _ => UInt::from(0u32),
        }
    }

    fn stack_machine(code: &UInts, start: UInt, input: Int) -> Int {
        let mut stack = Local::<i32>::new(8);
        let (mut pc, mut top) = (start, UInt::from(0u32));
        let mut steps = UInt::from(0u32);
        loop {
            let op = code[pc];
            pc += 1;
            steps += 1;
            if steps > 200 {
                break Int::from(-999);
            }
            match op {
                0 => break stack[top - 1],
                1 => {
                    stack[top] = input.clone();
                    top += 1;
                }
                2..=4 => {
                    let b = stack[top - 1];
                    let a = stack[top - 2];
                    top -= 1;
                    stack[top - 1] = match op {
                        2 => a + b,
                        3 => a - b,
                        _ => a * b,
                    };
                }
                5 => {
                    let value = stack[top - 1];
                    stack[top] = value;
                    top += 1;
                }
                6 => {
                    let target = code[pc];
                    pc += 1;
                    top -= 1;
                    if stack[top] > 0 {
                        pc = target;
                    }
                }
                10..=99 => {
                    stack[top] = (op - 10) as i32;
                    top += 1;
                }
                _ => break Int::from(-1),
            }
        }
    }

    // Batcher's bitonic sort of the lane's row; returns a value that distinguishes the orders.
    fn sorted_row(values: &UInts, lane: UInt) -> UInt {
        let mut row = Local::<u32>::new(8);
        for i in 0u32..8 {
            row[i] = values[lane * 8 + i];
        }
        let mut size = 2u32;
        while size <= 8 {
            let mut step = size / 2;
            while step > 0 {
                for i in 0u32..8 {
                    let other = i ^ step;
                    if other > i {
                        let (a, b) = (row[i], row[other]);
                        let is_rising = i & size == 0;
                        if (is_rising && a > b) || (!is_rising && a < b) {
                            row[i] = b;
                            row[other] = a;
                        }
                    }
                }
                step /= 2;
            }
            size *= 2;
        }
        let mut digits = UInt::from(0u32);
        for i in 0u32..8 {
            digits = digits * 8 + row[i];
        }
        digits
    }

    // The path of a ray through a grid of 8 × 8 cells (J. Amanatides and A. Woo, “A Fast Voxel Traversal Algorithm”,
    // 1987).
    fn march(grid: &UInts, x: Float, y: Float, dx: Float, dy: Float) -> Float {
        let (mut cell_x, mut cell_y) = (x.floor(), y.floor());
        let (step_x, step_y) = (Float::from(1.0).copysign(dx.clone()), Float::from(1.0).copysign(dy.clone()));
        let (turn_x, turn_y) = (1.0 / dx.abs(), 1.0 / dy.abs());
        let mut next_x = turn_x * if dx > 0.0 { cell_x + 1.0 - x } else { x - cell_x };
        let mut next_y = turn_y * if dy > 0.0 { cell_y + 1.0 - y } else { y - cell_y };
        let mut way = Float::from(0.0);
        loop {
            if cell_x < 0.0 || cell_x >= 8.0 || cell_y < 0.0 || cell_y >= 8.0 {
                return Float::from(-1.0);
            }
            if grid[(cell_y * 8.0 + cell_x) as u32] == 1 {
                return way;
            }
            if next_x < next_y {
                way = next_x.clone();
                next_x += turn_x;
                cell_x += step_x;
            } else {
                way = next_y.clone();
                next_y += turn_y;
                cell_y += step_y;
            }
        }
    }

    // The edit distance of two words, whose lengths differ by lane, in one row of memory.
    fn edits(words: &UInts, a: UInt, a_len: UInt, b: UInt, b_len: UInt) -> UInt {
        let mut row = Local::<u32>::new(7);
        for j in 0u32..7 {
            row[j] = UInt::from(j);
        }
        for i in 0u32..a_len {
            let mut diagonal = row[0u32];
            row[0u32] = i + 1;
            for j in 0u32..b_len {
                let above = row[j + 1];
                let replaced = if words[a * 6 + i] == words[b * 6 + j] { diagonal } else { diagonal + 1 };
                let left = row[j];
                row[j + 1] = replaced.min(above + 1).min(left + 1);
                diagonal = above;
            }
        }
        row[b_len]
    }
}

fn noise(count: usize, mut seed: u32) -> Vec<u32> {
    let next = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn below(bound: u32, count: usize, seed: u32) -> Vec<u32> {
    noise(count, seed).iter().map(|bits| (bits >> 8) % bound).collect()
}

fn floats(count: usize, seed: u32, low: f32, high: f32) -> Vec<f32> {
    noise(count, seed).iter().map(|bits| low + (high - low) * (bits >> 8) as f32 / (1 << 24) as f32).collect()
}

#[test]
fn bodies_orbit_each_other() {
    let (x, v, n) = (floats(77, 1, -1.0, 1.0), floats(77, 2, -1.0, 1.0), below(9, 77, 3));
    let expected: Vec<f32> = (0..77).map(|i| plain::orbit(x[i], v[i], n[i])).collect();
    on_each_device(|| {
        let got = traced::orbit(Float::from(&x), Float::from(&v), UInt::from(&n));
        assert_eq!(got.to_vec().unwrap(), expected);
    });
}

#[test]
fn cells_live_and_die() {
    let world = below(2, 13 * 9, 5);
    let list = host::List(world.clone());
    let expected: Vec<u32> = (0..13 * 9).map(|cell| plain::life(&list, cell, 13, 9)).collect();
    on_each_device(|| {
        let got = traced::life(&UInt::from(&world), UInt::arange(13 * 9), 13, 9);
        assert_eq!(got.to_vec().unwrap(), expected);
    });
}

#[test]
fn lanes_run_a_stack_machine() {
    // 0: x·x + 7;  6: counts x down to zero;  20: an endless loop;  23: an illegal instruction
    let code = vec![1, 1, 4, 17, 2, 0, 1, 11, 3, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0, 11, 6, 20, 200];
    let list = host::List(code.clone());
    let start: Vec<u32> = below(4, 64, 3).into_iter().map(|which| [0, 6, 20, 23][which as usize]).collect();
    let input: Vec<i32> = below(30, 64, 9).into_iter().map(|x| x as i32 - 9).collect();
    let expected: Vec<i32> = (0..64).map(|i| plain::stack_machine(&list, start[i], input[i])).collect();
    on_each_device(|| {
        let got = traced::stack_machine(&UInt::from(&code), UInt::from(&start), Int::from(&input));
        assert_eq!(got.to_vec().unwrap(), expected);
    });
}

#[test]
fn each_lane_sorts_its_row() {
    let values = below(8, 8 * 50, 7);
    let list = host::List(values.clone());
    let expected: Vec<u32> = (0..50).map(|lane| plain::sorted_row(&list, lane)).collect();
    let mut first = values[..8].to_vec();
    first.sort_unstable();
    assert_eq!(expected[0], first.iter().fold(0, |digits, digit| digits * 8 + digit));
    on_each_device(|| {
        let got = traced::sorted_row(&UInt::from(&values), UInt::arange(50));
        assert_eq!(got.to_vec().unwrap(), expected);
    });
}

#[test]
fn rays_march_through_a_grid() {
    let grid: Vec<u32> = below(9, 64, 4).into_iter().map(|x| u32::from(x == 0)).collect();
    let list = host::List(grid.clone());
    let (x, y) = (floats(90, 1, 0.0, 8.0), floats(90, 2, 0.0, 8.0));
    let (dx, dy) = (floats(90, 3, -1.0, 1.0), floats(90, 4, -1.0, 1.0));
    let expected: Vec<f32> = (0..90).map(|i| plain::march(&list, x[i], y[i], dx[i], dy[i])).collect();
    assert!(expected.contains(&-1.0) && expected.iter().any(|&way| way > 1.0));
    on_each_device(|| {
        let [x, y, dx, dy] = [&x, &y, &dx, &dy].map(Float::from);
        assert_eq!(traced::march(&UInt::from(&grid), x, y, dx, dy).to_vec().unwrap(), expected);
    });
}

#[test]
fn words_differ_by_edits() {
    let words = below(3, 6 * 10, 8);
    let list = host::List(words.clone());
    let (a, a_len) = (below(10, 80, 1), below(7, 80, 2));
    let (b, b_len) = (below(10, 80, 3), below(7, 80, 4));
    let expected: Vec<u32> = (0..80).map(|i| plain::edits(&list, a[i], a_len[i], b[i], b_len[i])).collect();
    on_each_device(|| {
        let [a, a_len, b, b_len] = [&a, &a_len, &b, &b_len].map(UInt::from);
        assert_eq!(traced::edits(&UInt::from(&words), a, a_len, b, b_len).to_vec().unwrap(), expected);
    });
}

#[jit]
fn equalised(image: &UInt, levels: usize) -> UInt {
    let mut counts = UInt::zeros(levels);
    counts.scatter_add(1, image);
    let up_to = counts.prefix_sum();
    let first = up_to.gather(&image.reduce_min());
    (up_to.gather(image) - &first) * (levels as u32 - 1) / (image.len() as u32 - &first)
}

#[test]
fn histograms_are_equalised() {
    let image = below(40, 500, 6);
    let up_to = |level: u32| image.iter().filter(|&&x| x <= level).count() as u32;
    let first = up_to(*image.iter().min().unwrap());
    let expected: Vec<u32> = image.iter().map(|&x| (up_to(x) - first) * 255 / (500 - first)).collect();
    on_each_device(|| assert_eq!(equalised(&UInt::from(&image), 256).to_vec().unwrap(), expected));
}

#[test]
fn no_lanes_compute_nothing() {
    on_each_device(|| {
        let (none, table) = (Vec::<u32>::new(), UInt::from([1, 0, 0]));
        let empty = || UInt::from(&none);
        assert_eq!(traced::edits(&table, empty(), empty(), empty(), empty()).to_vec().unwrap(), none);
        let left = traced::stack_machine(&table, empty(), empty().cast::<i32>());
        assert_eq!(left.to_vec().unwrap(), Vec::<i32>::new());
    });
}

#[test]
fn huge_indices_reach_no_memory_of_the_lane() {
    #[jit]
    fn turn(place: &UInt, times: UInt) -> (UInt, UInt) {
        let mut row = Local::<u32>::new(3);
        row[1u32] = UInt::from(5u32);
        let mut read = UInt::from(0u32);
        for _ in 0u32..times {
            row.write(place, &(row.read(place) + 7));
            read += row.read(place);
        }
        (read, row.read(&UInt::from(1)))
    }
    on_each_device(|| {
        let (read, left) = turn(&UInt::from([1, 3, u32::MAX, 1 << 31]), UInt::from([2, 2, 2, 2]));
        assert_eq!(read.to_vec().unwrap(), [12 + 19, 0, 0, 0]);
        assert_eq!(left.to_vec().unwrap(), [19, 5, 5, 5]);
    });
}

#[test]
fn one_function_runs_on_several_threads_at_once() {
    let x: Vec<Vec<f32>> = (0..4).map(|thread| floats(60 + thread, thread as u32 + 1, -1.0, 1.0)).collect();
    std::thread::scope(|scope| {
        for x in &x {
            scope.spawn(move || {
                on_each_device(|| {
                    for steps in 0..12_u32 {
                        let got = traced::orbit(Float::from(x), Float::from(0.5), UInt::from(steps));
                        let expected: Vec<f32> = x.iter().map(|&x| plain::orbit(x, 0.5, steps)).collect();
                        assert_eq!(got.to_vec().unwrap(), expected);
                    }
                });
            });
        }
    });
}

/// An evaluated loop around another one that writes to arrays that are as wide as the lanes, and to others.
macro_rules! nested {
    ($($name:ident [$($attribute:tt)*])*) => {$(
        #[jit]
        fn $name(start: &UInt, sums: &mut UInt, mirror: &mut UInt) -> UInt {
            let (mut left, mut seen) = (start.clone(), UInt::from(0));
            let lane = UInt::arange(start.width());
            $($attribute)*
            while left > 0 {
                let mut turns = left % 3;
                #[evaluated]
                while turns > 0 {
                    sums.scatter_add(&turns, &(left % 5));
                    mirror.scatter(&(left + turns), &(start.len() as u32 - 1 - &lane));
                    seen += left;
                    turns -= 1;
                }
                left -= 1;
            }
            seen
        }
    )*};
}

nested! {
    nested_all [#[evaluated]]
    nested_few [#[evaluated] #[compress]]
}

#[test]
fn writes_of_an_inner_evaluated_loop_are_visible_in_the_outer_one() {
    let start: Vec<u32> = (0..67).map(|lane| if lane % 9 == 0 { 14 } else { lane % 4 }).collect();
    let (mut sums, mut mirror, mut seen) = (vec![0; 5], vec![0; 67], vec![0; 67]);
    for (lane, &start) in start.iter().enumerate() {
        for left in (1..=start).rev() {
            for turns in (1..=left % 3).rev() {
                sums[left as usize % 5] += turns;
                mirror[66 - lane] = left + turns;
                seen[lane] += left;
            }
        }
    }
    on_each_device(|| {
        for run in [nested_all, nested_few] {
            let (mut got_sums, mut got_mirror) = (UInt::zeros(5), UInt::zeros(67));
            let got_seen = run(&UInt::from(&start), &mut got_sums, &mut got_mirror);
            assert_eq!(got_seen.to_vec().unwrap(), seen);
            assert_eq!(got_sums.to_vec().unwrap(), sums);
            assert_eq!(got_mirror.to_vec().unwrap(), mirror);
        }
    });
}

#[test]
fn arrays_evaluated_in_an_arm_still_count_as_written_there() {
    #[jit]
    fn count(start: &UInt) -> UInt {
        let mut sums = UInt::zeros(3);
        #[evaluated]
        if start > 2 {
            let mut left = start.clone();
            #[evaluated]
            while left > 0 {
                sums.scatter_add(1, &(left % 3));
                left -= 1;
            }
        } else {
            sums.scatter_add(10, start);
        }
        sums
    }
    on_each_device(|| assert_eq!(count(&UInt::from([1, 4, 0, 6])).to_vec().unwrap(), [13, 14, 3]));
}

#[test]
fn an_evaluated_loop_may_follow_a_return() {
    #[jit]
    fn grown(x: Float) -> Float {
        if x > 30.0 {
            return x * 10.0;
        }
        let mut y = x.clone();
        #[evaluated]
        while y < 10.0 {
            y = y * 2.0;
        }
        y
    }
    on_each_device(|| {
        let grown = |values: &[f32]| grown(Float::from(values)).to_vec().unwrap();
        assert_eq!(grown(&[1.0, 50.0, 3.0, 20.0]), [16.0, 500.0, 12.0, 20.0]);
        assert_eq!(grown(&[50.0, 40.0]), [500.0, 400.0]);
        assert_eq!(grown(&[1.0]), [16.0]);
    });
}

#[test]
fn an_evaluated_loop_may_follow_a_break_out_of_another() {
    #[jit]
    fn rounds(limit: &UInt) -> UInt {
        let mut sum = UInt::from(0);
        for round in 0..4 {
            if sum > limit {
                break;
            }
            let mut i = UInt::from(0);
            #[evaluated]
            while i <= round {
                i += 1;
                sum += i;
            }
        }
        sum
    }
    // After the rounds the sums are 1, 4, 10, 20.
    on_each_device(|| assert_eq!(rounds(&UInt::from([0, 3, 4, 30])).to_vec().unwrap(), [1, 4, 10, 20]));
}

#[test]
fn an_evaluated_loop_in_one_that_no_lane_enters_begins_with_constants() {
    #[jit]
    fn turns(start: &UInt) -> UInt {
        let (mut left, mut all) = (start.clone(), UInt::from(0));
        #[evaluated]
        while left > 5 {
            let mut turn = UInt::from(0);
            #[evaluated]
            while turn < 3 {
                turn += 1;
                all += left;
            }
            left -= 1;
        }
        all
    }
    on_each_device(|| {
        assert_eq!(turns(&UInt::from([1, 5, 0])).to_vec().unwrap(), [0, 0, 0]);
        assert_eq!(turns(&UInt::from([1, 7, 0])).to_vec().unwrap(), [0, 39, 0]);
    });
}
