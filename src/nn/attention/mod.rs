//! Attention: means of values, weighted by how well keys match queries.

mod multi_head;
mod scaled;

pub use multi_head::MultiHeadAttention;
pub use scaled::{Attention, scaled_dot_product_attention};
