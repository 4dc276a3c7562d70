//! Holds no code: `examples` are the programs of the gallery that draw pictures, apart from `slyz` because of what they depend on.
