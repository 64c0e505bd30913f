//! Steps that move elements, select some, or replace them.

use super::*;

impl<T: Kind> Program<T> {
    pub(super) fn permuted(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let axes = a.model.shape.len();
        let mut order: Vec<usize> = (0..axes).collect();
        for place in (1..axes).rev() {
            order.swap(place, self.dice.roll(place + 1));
        }
        let shape = order.iter().map(|&axis| a.model.shape[axis]).collect();
        let from = |at: &[usize]| {
            let mut own = vec![0; axes];
            order.iter().zip(at).for_each(|(&axis, &at)| own[axis] = at);
            a.model.at(&own)
        };
        let model = Model::of(shape, from);
        let order: Vec<isize> = order.into_iter().map(|axis| axis as isize).collect();
        Some(Value { tensor: a.tensor.permute_axes(order), model })
    }

    pub(super) fn flipped(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let model = a.model.along(axis, |line| line.iter().rev().copied().collect());
        Some(Value { tensor: a.tensor.flip(axis as isize), model })
    }

    /// Axes are joined, split, added and removed.
    pub(super) fn reshaped(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let mut shape = a.model.shape.clone();
        for _ in 0..3 {
            match self.dice.roll(4) {
                0 if shape.len() > 1 => {
                    let axis = self.dice.roll(shape.len() - 1);
                    let length = shape.remove(axis);
                    shape[axis] *= length;
                }
                1 if shape.len() < MOST_AXES => shape.insert(self.dice.roll(shape.len() + 1), 1),
                2 => shape.retain(|&length| length != 1),
                _ if !shape.is_empty() && shape.len() < MOST_AXES => {
                    let axis = self.dice.roll(shape.len());
                    let by = [2, 3, 4, 5, 8, 16][self.dice.roll(6)];
                    if shape[axis].is_multiple_of(by) && shape[axis] != 0 {
                        shape[axis] /= by;
                        shape.insert(axis + self.dice.roll(2), by);
                    }
                }
                _ => {}
            }
        }
        let model = Model { shape: shape.clone(), bits: a.model.bits };
        Some(Value { tensor: a.tensor.reshape(shape), model })
    }

    /// An index for each axis, with the coordinates along that axis, none for an axis that goes.
    pub(super) fn indices(&mut self, shape: &[usize]) -> (Vec<Index>, Vec<(Vec<usize>, bool)>) {
        let mut indices = Vec::new();
        let mut places = Vec::new();
        for &length in shape {
            match self.dice.roll(8) {
                0 if length > 0 => {
                    let at = self.dice.roll(length);
                    let written = if self.dice.flip() { at as isize } else { at as isize - length as isize };
                    indices.push(written.into_index());
                    places.push((vec![at], false));
                }
                1..3 => {
                    indices.push((..).into_index());
                    places.push(((0..length).collect(), true));
                }
                _ => {
                    let near = |dice: &mut Dice| dice.roll(2 * length + 5) as isize - length as isize - 2;
                    let (begin, end) = (near(&mut self.dice), near(&mut self.dice));
                    let step = [1, 1, 2, 3, -1, -2][self.dice.roll(6)];
                    let [index] = s![begin..end; step];
                    indices.push(index);
                    places.push((python_range(begin, end, step, length), true));
                }
            }
        }
        (indices, places)
    }

    pub(super) fn sliced(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let (indices, places) = self.indices(&a.model.shape);
        let shape = places.iter().filter(|(_, stays)| *stays).map(|(places, _)| places.len()).collect();
        let model = Model::of(shape, |at| a.model.at(&selected(&places, at)));
        Some(Value { tensor: a.tensor.slice(indices), model })
    }

    pub(super) fn taken(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let length = a.model.shape[axis];
        if length == 0 {
            return None;
        }
        let count = self.length();
        if a.model.bits.len() / length * count > MOST {
            return None;
        }
        let places: Vec<usize> = (0..count).map(|_| self.dice.roll(length)).collect();
        let from_end = self.dice.flip();
        let model = a.model.along(axis, |line| places.iter().map(|&place| line[place]).collect());
        let tensor = if from_end {
            let index: Vec<i32> = places.iter().map(|&place| place as i32 - length as i32).collect();
            a.tensor.take(axis as isize, Int::from(index))
        } else {
            let index: Vec<u32> = places.iter().map(|&place| place as u32).collect();
            a.tensor.take(axis as isize, UInt::from(index))
        };
        Some(Value { tensor, model })
    }

    /// A part is replaced. The tensor from before may still be used, and be what is assigned.
    pub(super) fn assigned(&mut self) -> Option<Value<T>> {
        let place = self.dice.roll(self.values.len());
        let mut a = self.values[place].clone();
        let (indices, places) = self.indices(&a.model.shape);
        let shape: Vec<usize> = places.iter().filter(|(_, stays)| *stays).map(|(places, _)| places.len()).collect();
        let value = self.fitting(&shape);
        // Without another handle, elements are written in place.
        if self.dice.flip() && self.values.len() > 3 {
            self.values.swap_remove(place);
        }
        a.tensor.set(indices, &value.tensor);
        let count: usize = shape.iter().product();
        for number_of_part in 0..count {
            let at = coordinates(&shape, number_of_part);
            let place = number(&a.model.shape, &selected(&places, &at));
            a.model.bits[place] = value.model.broadcast_at(&at);
        }
        Some(a)
    }

    pub(super) fn assigned_where(&mut self) -> Option<Value<T>> {
        let mut a = self.pick();
        let (b, value) = (self.fitting(&a.model.shape), self.fitting(&a.model.shape));
        let bound = self.element();
        let mask = b.tensor.lt(Array::from(T::from_bits(bound)));
        a.tensor.set_where(&mask, &value.tensor);
        let element = |at: &[usize]| {
            let is_below = scalar::compare(CompareOp::Lt, T::TYPE, b.model.broadcast_at(at), bound);
            if is_below { value.model.broadcast_at(at) } else { a.model.at(at) }
        };
        let model = Model::of(a.model.shape.clone(), element);
        Some(Value { tensor: a.tensor, model })
    }

    pub(super) fn broadcast(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let mut shape = a.model.shape.clone();
        for length in &mut shape {
            if *length == 1 && self.dice.flip() {
                *length = self.length();
            }
        }
        if shape.len() < MOST_AXES {
            shape.insert(0, self.length());
        }
        if shape.iter().product::<usize>() > MOST {
            return None;
        }
        let model = Model::of(shape.clone(), |at| a.model.broadcast_at(at));
        Some(Value { tensor: a.tensor.broadcast_to(shape), model })
    }
}
