//! Textures as arguments and state.

use jit::prelude::*;
use jit::texture::{Filter, Texture1, Texture2, Wrap};

use crate::{alike, floats, frozen, values};

fn texture(size: [usize; 2], salt: usize) -> Texture2 {
    let [height, width] = size;
    Texture2::new(Tensor::from_array(floats(height * width * 2, salt), [height, width, 2])).with_wrap(Wrap::Mirror)
}

#[freeze]
fn looked_up(texture: &Texture2, x: &Float, y: &Float) -> Vec<Float> {
    texture.eval(&[x.clone(), y.clone()])
}

// rows: F073
#[test]
fn textures_are_read_at_positions_of_any_number() {
    alike(frozen!(looked_up), 2, || {
        let sizes = [(7, [4, 5]), (9, [4, 5]), (100, [4, 5]), (7, [6, 5]), (8, [6, 9])];
        let linear = sizes.map(|(n, size)| {
            let values =
                looked_up(&texture(size, n), &floats(n, 1), &floats(n, 2)).iter().map(values).collect::<Vec<_>>();
            assert_eq!(values.len(), 2);
            values
        });
        let nearest = [3, 5].map(|n| {
            let texture = texture([4, 5], n).with_filter(Filter::Nearest);
            looked_up(&texture, &floats(n, 1), &floats(n, 2)).iter().map(values).collect::<Vec<_>>()
        });
        (linear, nearest)
    });
}

#[freeze]
fn written(texture: &mut Texture1, scale: &Float) -> Vec<Float> {
    let texels = texture.tensor().array() * scale;
    texture.set_array(texels);
    texture.eval(&[Float::linspace(0.0, 1.0, 9)])
}

// rows: F074
#[test]
fn textures_are_written() {
    alike(frozen!(written), 1, || {
        let mut texture = Texture1::new(Tensor::from_array(floats(6, 1), [6, 1]));
        [1.0, 2.0, 0.5].map(|scale| {
            let read = written(&mut texture, &Float::opaque(scale)).iter().map(values).collect::<Vec<_>>();
            (read, texture.tensor().to_vec().unwrap())
        })
    });
}
