//! From graphs to kernels and plans: one strategy per kind of machine.

pub mod cpu;
