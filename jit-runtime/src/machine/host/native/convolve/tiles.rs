//! How the targets of convolutions are cut into units of work. Each element is computed in one tile, from all channels,
//! so the division changes no bit.

use super::image::{Area, Image};
use super::{Convolution, Sought, UNIT_PRODUCTS};

/// The columns of a product for a tile, at most: then the time to copy the source is small.
const MOST_COLUMNS: usize = 1024;
/// The columns of the smallest tiles that are made for the sake of more threads.
const FEWEST_COLUMNS: usize = 64;
/// The rows of the smallest ones.
const FEWEST_ROWS: usize = 24;
/// The tiles for each thread, if there are elements enough.
const TILES_PER_THREAD: usize = 2;

/// A part of the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    pub(super) batch: usize,
    pub(super) group: usize,
    /// The number of the image.
    pub(super) image: usize,
    pub(super) area: Area,
    /// The channels of the target in the group.
    pub(super) first_row: usize,
    pub(super) rows: usize,
}

/// How the areas of one image are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    planes: usize,
    down: usize,
    across: usize,
}

impl Cut {
    /// Cuts an image into as many tiles as its size demands, and as wanted, if they do not become too small.
    fn new(image: &Image, wanted: usize) -> Cut {
        let [planes, rows, columns] = image.lines.each_ref().map(|line| line.count);
        let across = columns.div_ceil(MOST_COLUMNS).max(1);
        let area = Area { plane: 0, first_row: 0, rows: 0, first_column: 0, columns: columns.div_ceil(across) };
        let row_length = image.row_length(&area).max(1);
        let most_rows = if across > 1 { 1 } else { (MOST_COLUMNS / row_length).max(1) };
        let down = rows.div_ceil(most_rows).max(1);
        let more = wanted.div_ceil(planes.max(1) * across).min((rows * row_length).div_ceil(FEWEST_COLUMNS)).min(rows);
        Cut { planes, down: down.max(more), across }
    }

    fn tiles(&self) -> usize {
        self.planes * self.down * self.across
    }
}

/// The division of a target.
pub(super) struct Division {
    convolution: Convolution,
    images: Vec<(Cut, [usize; 3])>,
    /// The tiles of all images for a group, and the parts of their rows.
    tiles: usize,
    rows: usize,
    row_parts: usize,
    tiles_per_unit: usize,
}

/// A part of `length`.
pub(super) fn share(length: usize, part: usize, parts: usize) -> (usize, usize) {
    let first = length * part / parts;
    (first, length * (part + 1) / parts - first)
}

impl Division {
    pub(super) fn new(convolution: &Convolution, images: &[Image], threads: usize) -> Division {
        let Convolution { batch, groups, channels, results, .. } = *convolution;
        let (rows, summed) = match convolution.sought {
            Sought::Input => (channels, results),
            _ => (results, channels),
        };
        let wanted = (TILES_PER_THREAD * threads).div_ceil((batch * groups).max(1));
        let wanted_of_image = wanted.div_ceil(images.len().max(1));
        let cut = |image: &Image| {
            let counts = image.lines.each_ref().map(|line| line.count);
            (Cut::new(image, wanted_of_image), counts)
        };
        let cuts: Vec<_> = images.iter().map(cut).collect();
        let tiles = cuts.iter().map(|(cut, counts)| if counts.contains(&0) { 0 } else { cut.tiles() }).sum::<usize>();
        let row_parts = wanted.div_ceil(tiles.max(1)).min(rows.div_ceil(FEWEST_ROWS)).max(1);
        let products: usize = images
            .iter()
            .map(|image| image.lines.iter().map(|line| line.count).product::<usize>() * image.taps() * summed * rows)
            .sum();
        let products_of_tile = products / (tiles * row_parts).max(1);
        let tiles_per_unit = (UNIT_PRODUCTS / products_of_tile.max(1)).clamp(1, (batch * groups).max(1));
        Division { convolution: *convolution, images: cuts, tiles, rows, row_parts, tiles_per_unit }
    }

    fn all(&self) -> usize {
        self.convolution.batch * self.convolution.groups * self.tiles * self.row_parts * usize::from(self.rows > 0)
    }

    /// The number of units of work.
    pub(super) fn units(&self) -> usize {
        self.all().div_ceil(self.tiles_per_unit)
    }

    /// The tiles of a unit.
    pub(super) fn unit(&self, number: usize) -> impl Iterator<Item = Tile> {
        let first = number * self.tiles_per_unit;
        (first..self.all().min(first + self.tiles_per_unit)).map(|tile| self.tile(tile))
    }

    fn tile(&self, number: usize) -> Tile {
        let (first_row, rows) = share(self.rows, number % self.row_parts, self.row_parts);
        let number = number / self.row_parts;
        let (mut of_group, number) = (number % self.tiles, number / self.tiles);
        let mut image = 0;
        for (cut, counts) in &self.images {
            let tiles = if counts.contains(&0) { 0 } else { cut.tiles() };
            if of_group < tiles {
                break;
            }
            of_group -= tiles;
            image += 1;
        }
        let (cut, [_, rows_of_image, columns]) = self.images[image];
        let (first_column, columns) = share(columns, of_group % cut.across, cut.across);
        let (first, rows_of_area) = share(rows_of_image, of_group / cut.across % cut.down, cut.down);
        let plane = of_group / (cut.across * cut.down);
        let area = Area { plane, first_row: first, rows: rows_of_area, first_column, columns };
        let groups = self.convolution.groups;
        Tile { batch: number / groups, group: number % groups, image, area, first_row, rows }
    }
}
